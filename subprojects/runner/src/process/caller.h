/* caller.h: what the runner was started with, so that the benchmark gets the same.
 *
 * Signal mask, ignored signals, limits, umask and open descriptors survive execve (execve(2)); the runner
 * changes some of them for itself, and the child puts them back.
 */
#ifndef RUNNER_PROCESS_CALLER_H
#define RUNNER_PROCESS_CALLER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct caller {
	sigset_t mask;
	uint64_t ignored; /* bit n - 1: signal n was ignored */
	struct rlimit limits[RLIM_NLIMITS];
	mode_t umask;
	int *fds; /* open descriptors, ascending */
	size_t n_fds;
};

/* Notes the state. To be called before the runner opens or changes anything. -errno: /proc/self/fd cannot be
 * read, or -ENOMEM. */
int caller_init(struct caller *ret_caller);
void caller_deinit(struct caller *caller);

/* Changes what the runner needs otherwise: standard descriptors that are closed get /dev/null, the soft limit
 * of descriptors is raised to the hard one, files are private, a closed pipe is an error instead of a signal,
 * and children can be waited for. -errno of the first that failed. */
int caller_adapt(const struct caller *caller);

bool caller_ignores(const struct caller *caller, int signal_number);

/* Undoes caller_adapt in the child, and closes every descriptor that is not the caller's but keep_fd. Leaves
 * the signal mask, which must be the last step before execve. Async-signal-safe. */
int caller_restore(const struct caller *caller, int keep_fd);

#endif
