/* summary.h: what a run came to, for people and as summary.json in the profile folder. */
#ifndef RUNNER_PROFILE_SUMMARY_H
#define RUNNER_PROFILE_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "pipes/integration.h"
#include "profile/benchmarks.h"
#include "profile/folder.h"
#include "runner_plugin.h"
#include "term/console.h"
#include "term/figures.h"

struct summary {
	const struct runner_plugin *api;
	char *const *command;
	struct timespec started; /* CLOCK_REALTIME */
	uint64_t wall_ns;        /* from execve to the command's end */
	int wait_status;         /* as of waitpid */
	bool is_finished;        /* post_exec succeeded: the outcome is valid */
	struct runner_outcome outcome;
	bool allow_loss;
	bool allow_empty;
	const struct integration *integration;
	struct figures figures;
	struct benchmarks benchmarks;
	int exit_status; /* of the runner */
};

/* The exit status of the runner that follows from the rest of `summary`. */
int summary_exit_status(const struct summary *summary);

/* Says what of the run is not as it should be, as warnings. */
void summary_warn(const struct summary *summary, struct console *console);

/* Prints figures and result. */
void summary_print(const struct summary *summary, const struct folder *folder, struct console *console);

/* Writes summary.json, with the messages that the console kept. Keys: version (1), runner {version,
 * abi_major}, instrument {name, version}, command [], started (UTC), wall_ns, command_status {exited |
 * signal}, exit_status, complete, lost, not_traced, gate_failed, allow_loss, allow_empty, no_benchmark,
 * integration {name, version} (null: none spoke; "" when it did not say), figures {key: number}, benchmarks
 * [{uri, key: number}], messages [], n_messages_left_out. Strings that are not UTF-8 have U+FFFD for what is not. -errno: the file is not
 * complete. */
int summary_write(const struct summary *summary, const struct folder *folder, const struct console *console);

#endif
