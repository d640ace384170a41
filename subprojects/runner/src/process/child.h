/* child.h: the process that becomes the benchmark.
 *
 * It is forked (never vforked: it has to wait), prepares itself completely, and waits before execve. The two
 * sides speak through a socket that execve closes: that is how the runner learns that it has happened, and
 * how the child learns that the runner has died.
 */
#ifndef RUNNER_PROCESS_CHILD_H
#define RUNNER_PROCESS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/caller.h"
#include "process/environment.h"
#include "process/identity.h"
#include "runner_plugin.h"
#include "term/console.h"

/* What the child is to become. */
struct child_plan {
	const struct caller *caller;
	const struct identity *identity;
	const struct environment *environment;
	char *const *argv;
	const struct runner_plugin *api;
	void *state; /* of the plugin */
};

struct child {
	pid_t pid;
	int pidfd;
	int socket;
	int setup_fd; /* -1 once somebody else owns it */
	bool executed;
	int exec_error; /* errno of a failed execve */
	bool ended;
	int wait_status; /* valid once ended */
};

#define CHILD_NONE ((struct child){.pid = -1, .pidfd = -1, .socket = -1, .setup_fd = -1})

/* Starts the child and waits until it is ready to execute. Errors are said; there is no child then. */
int child_spawn(const struct child_plan *plan, struct console *console, struct child *ret_child);

/* Ends a child that has not ended, and releases everything. */
void child_deinit(struct child *child);

/* Lets it execute. */
int child_release(struct child *child);

/* Takes what there is to read on `socket` without waiting: sets `executed` or exec_error, and closes it. */
void child_read_socket(struct child *child);

/* Waits for its end. Should somebody else have reaped it, it counts as ended with STATUS_RUNNER. */
void child_reap(struct child *child);

#endif
