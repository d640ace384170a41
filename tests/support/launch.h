/* launch.h: running commands in tests, with their output kept and their time limited. */
#ifndef TESTS_SUPPORT_LAUNCH_H
#define TESTS_SUPPORT_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct launch {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
	const char *const *env;  /* NULL-terminated NAME=VALUE in addition to the environment; may be NULL */
	const char *folder;      /* working directory; NULL: the caller's */
	unsigned timeout;        /* seconds; 0: 120 */
};

struct launch_result {
	int status;     /* exit status, or 128 + signal */
	bool timed_out; /* it was killed, with its descendants, because its time was over */
	char *out;      /* standard output, NUL-terminated */
	size_t n_out;
	char *err; /* standard error */
};

/* A command under way. */
struct running {
	pid_t pid;
	int out_fd;
	int err_fd;
	unsigned timeout;
};

/* Starts a command as the leader of a process group of its own. 0 or a negative errno. */
int launch_start(const struct launch *launch, struct running *ret_running);

/* Whether it has ended; it stays to be waited for. */
bool launch_has_ended(const struct running *running);

/* Waits for it. Always ends `running`. */
int launch_finish(struct running *running, struct launch_result *ret_result);

/* Both. */
int launch_run(const struct launch *launch, struct launch_result *ret_result);

void launch_result_deinit(struct launch_result *result);

#endif
