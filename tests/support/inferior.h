/* inferior.h: calls functions of another program under ptrace and watches one instruction of them. */
#ifndef TESTS_SUPPORT_INFERIOR_H
#define TESTS_SUPPORT_INFERIOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* So many instructions of a call are stepped; from there on it stops only at the site. */
#define INFERIOR_MAX_STEPS 3000u

struct inferior {
	pid_t pid;
	uint64_t scratch; /* a page of writable memory in it; begins as fixture `idle` says */
};

/* Starts fixture `idle` at `path`, which stops itself once its libraries are up; `preload` (may be NULL) goes
 * into LD_PRELOAD. 0 or a negative errno; -EPROTO when it did not come up. */
int inferior_init(const char *path, const char *preload, struct inferior *ret_inferior);
void inferior_deinit(struct inferior *inferior);

/* Where the file at `path` is mapped: what to add to its own addresses. -ENOENT when it is not. */
int inferior_bias(const struct inferior *inferior, const char *path, uint64_t *ret_bias);

/* A word of its memory. */
uint64_t inferior_read(const struct inferior *inferior, uint64_t address);

/* What stepping one call showed at the site. "Untouched": equal to the value at the function's entry. */
struct inferior_call {
	uint64_t result;            /* rax at its return */
	unsigned n_arrivals;        /* at the site, in this activation of the function */
	unsigned n_steps_before;    /* instructions from the entry to the first arrival */
	bool stack_untouched;       /* rsp at the first arrival */
	bool saved_untouched;       /* rbx, rbp, r12 to r15 there */
	bool argument_untouched[5]; /* rdi, rsi, rdx, rcx, r8 there */
	bool returned;              /* to the caller, with the stack pointer it expects */
};

/* Calls `function` with five arguments, watching for `site`. 0; -EPROTO: the program died of the call;
 * -ENOTSUP: the machine has no breakpoints of its own. */
int inferior_call(struct inferior *inferior, uint64_t function, uint64_t site, const uint64_t arguments[5],
        struct inferior_call *ret_call);

#endif
