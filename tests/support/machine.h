/* machine.h: what the machine allows, and what a run has left on it. */
#ifndef TESTS_SUPPORT_MACHINE_H
#define TESTS_SUPPORT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Why nothing can be captured here, or NULL when it can: rights, BTF, uprobes. A constant. */
const char *machine_why_no_capture(void);

/* eBPF programs and links loaded on the machine: their ids, and how many are not in `before`. */
struct machine_bpf {
	uint32_t *ids;
	size_t n_ids;
};

void machine_bpf_take(struct machine_bpf *ret_bpf);
void machine_bpf_deinit(struct machine_bpf *bpf);

/* Waits up to `seconds` until every program and link that is not in `before` is gone. Returns how many are
 * left, apart from those that a process holds which is no descendant of this one: another run on the same
 * machine. */
size_t machine_bpf_left(const struct machine_bpf *before, unsigned seconds);

/* The same of links alone, as it is now: those that a process closes are gone before it is, programs a little
 * later. */
size_t machine_links_left(const struct machine_bpf *before);

/* Whether such another run is under way: then breakpoints may be its. */
bool machine_others_probe(void);

/* How many bytes of the code of libraries named like `name` differ in a process from what their files hold:
 * each breakpoint there is one. -1 when the process is gone or maps none. */
int machine_n_breakpoints(pid_t pid, const char *name);

/* Calls `visit` for each live descendant of this process with its state letter of /proc/PID/stat. */
void machine_each_descendant(void (*visit)(void *context, pid_t pid, char state), void *context);

/* Whether a process is this one or a descendant of it. */
bool machine_is_descendant(pid_t pid);

/* Descendants that a signal has stopped (state T), and all of them (zombies apart). */
size_t machine_n_stopped(void);
size_t machine_n_descendants(void);

/* Waits until no descendant is left, reaping what comes to this process. Returns how many remain. */
size_t machine_wait_for_none(unsigned seconds);

/* Kills every descendant, by its id. */
void machine_end_descendants(void);

#endif
