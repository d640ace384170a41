/* integration.h: what the benchmarks' integrations ask for, and what has to be recorded when. */
#ifndef RUNNER_PIPES_INTEGRATION_H
#define RUNNER_PIPES_INTEGRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "pipes/protocol.h"
#include "runner_plugin.h"
#include "term/console.h"

struct integration {
	const struct runner_plugin *api;
	void *state; /* of the plugin */
	struct console *console;
	enum scope scope;
	bool has_spoken; /* a command came */
	bool is_recording;
	bool is_started;       /* between StartProfiler and StopProfiler */
	bool was_told_version; /* that it is too old, for once */
	char *name;            /* NULL: none was given */
	char *version;
	uint64_t n_benchmarks; /* CurrentBenchmark */
	uint64_t n_refused;    /* messages answered with Err */
	uint64_t n_restarted;  /* StartProfiler without a StopProfiler before it */
};

/* Before the command starts: `state` is watching it. Stops the recording where the scope wants that. -errno
 * of the plugin, which has said it. */
int integration_init(struct integration *ret_integration, const struct runner_plugin *api, void *state,
        enum scope scope, struct console *console);
void integration_deinit(struct integration *integration);

/* Does what a message asks for, completely, and returns the answer to it. */
enum message_kind integration_answer(struct integration *integration, const uint8_t *data, size_t n);

/* Whether benchmarks were to be expected and none ran. */
bool integration_is_empty(const struct integration *integration);

#endif
