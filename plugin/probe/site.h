/* site.h: which instruction of a function gets the probe. */
#ifndef PLUGIN_PROBE_SITE_H
#define PLUGIN_PROBE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct site {
	unsigned offset; /* bytes from the function's first */
	bool emulated;   /* the kernel emulates the instruction; else it single-steps it, which costs ~10 us more */
};

/* Chooses the first instruction that the kernel emulates and that every call passes exactly once with the stack
 * pointer and the first `n_arguments` argument registers as at entry; the first byte where there is none.
 *
 * `code` are the function's `n_code` bytes (its whole body: branches back are looked for), `address` is where
 * they run, only for relative branches. The kernel emulates (arch/x86/kernel/uprobes.c, branch_setup_xol_insn,
 * push_setup_xol_insn): push of a register, nop and endbr64, relative call, jmp and jcc.
 * 0, or -EINVAL for a function without code. On other machines than x86-64 it is always the first byte. */
int site_choose(const uint8_t *code, size_t n_code, uint64_t address, unsigned n_arguments, struct site *ret_site);

#endif
