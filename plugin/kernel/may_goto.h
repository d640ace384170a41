/* may_goto.h: the instruction by which loops converge to the verifier (bpf/loop.bpf.h), where the kernel has it. */
#ifndef PLUGIN_KERNEL_MAY_GOTO_H
#define PLUGIN_KERNEL_MAY_GOTO_H

#include <stdbool.h>
#include <stddef.h>

/* Does the kernel know may_goto? Since Linux 6.9, commit 011832b97b31. */
bool may_goto_probe(void);

/* Puts an instruction that does nothing in place of each may_goto of an eBPF object, an ELF file of n bytes in memory.
 * Returns how many there were, or -EINVAL where that is no such object. */
int may_goto_remove(void *object, size_t n);

#endif
