/* integration.c: commands to hooks of the plugin. */
#include "pipes/integration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugin/hooks.h"
#include "util/cleanup.h"

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int set_recording(struct integration *integration, bool on)
{
	int error = 0;

	if (integration->is_recording != on)
		error = on ? integration->api->start(integration->state)
		           : integration->api->stop(integration->state);
	if (error == 0)
		integration->is_recording = on;
	return error;
}

int integration_init(struct integration *ret_integration, const struct runner_plugin *api, void *state,
        enum scope scope, struct console *console)
{
	struct integration integration = {
	        .api = api, .state = state, .console = console, .scope = scope, .is_recording = true};
	int error = scope == SCOPE_BENCHMARKS ? set_recording(&integration, false) : 0;

	if (error == 0)
		*ret_integration = integration;
	return error;
}

void integration_deinit(struct integration *integration)
{
	free(integration->name);
	free(integration->version);
	*integration = (struct integration){0};
}

static int mark(struct integration *integration, int32_t pid, uint32_t kind, uint64_t timestamp)
{
	if (!PLUGIN_HAS(integration->api, marker))
		return 0;
	return integration->api->marker(integration->state, pid, kind, timestamp);
}

/* The sample begins before and ends after what is recorded, so that all of that lies within it. */
static int start_profiler(struct integration *integration)
{
	uint64_t timestamp = now_ns();
	int error = set_recording(integration, true);

	if (error == 0)
		error = mark(integration, 0, MARKER_SAMPLE_START, timestamp);
	if (error < 0)
		return error;
	/* Its benchmark died, most likely. */
	integration->n_restarted += integration->is_started;
	integration->is_started = true;
	return 0;
}

static int stop_profiler(struct integration *integration)
{
	int error = integration->scope == SCOPE_PROCESS ? 0 : set_recording(integration, false);

	integration->is_started = false;
	return error < 0 ? error : mark(integration, 0, MARKER_SAMPLE_END, now_ns());
}

static int set_integration(struct integration *integration, struct command *command)
{
	int error = 0;

	if (PLUGIN_HAS(integration->api, integration))
		error = integration->api->integration(integration->state, command->name, command->version);
	if (error < 0)
		return error;
	free(integration->name);
	free(integration->version);
	integration->name = STEAL_PTR(command->name);
	integration->version = STEAL_PTR(command->version);
	console_info(integration->console, "integration %s %s", integration->name, integration->version);
	return 0;
}

static int name_benchmark(struct integration *integration, const struct command *command)
{
	int error = 0;

	if (PLUGIN_HAS(integration->api, benchmark))
		error = integration->api->benchmark(integration->state, command->pid, command->uri, now_ns());
	integration->n_benchmarks += error == 0;
	return error;
}

static int check_version(struct integration *integration, uint64_t version)
{
	if (version >= PROTOCOL_VERSION_MIN)
		return 0;
	if (!integration->was_told_version)
		console_warning(integration->console,
		        "the benchmark's integration speaks version %llu of the protocol, at least %u is "
		        "needed: "
		        "update it",
		        (unsigned long long)version, PROTOCOL_VERSION_MIN);
	integration->was_told_version = true;
	return -EPROTO;
}

/* Whoever speaks for the first time says by that, too, that there are benchmarks. */
static int listen_up(struct integration *integration)
{
	int error = 0;

	if (!integration->has_spoken && integration->scope == SCOPE_AUTO)
		error = set_recording(integration, false);
	integration->has_spoken = true;
	return error;
}

static int obey(struct integration *integration, struct command *command)
{
	int error = listen_up(integration);

	if (error < 0)
		return error;
	switch (command->kind) {
	case MESSAGE_CURRENT_BENCHMARK:
		return name_benchmark(integration, command);
	case MESSAGE_START_PROFILER:
		return start_profiler(integration);
	case MESSAGE_STOP_PROFILER:
		return stop_profiler(integration);
	case MESSAGE_SET_INTEGRATION:
		return set_integration(integration, command);
	case MESSAGE_ADD_MARKER:
		return mark(integration, command->pid, command->marker, command->timestamp);
	case MESSAGE_SET_VERSION:
		return check_version(integration, command->protocol);
	default: /* they ask for an answer only */
		return 0;
	}
}

enum message_kind integration_answer(struct integration *integration, const uint8_t *data, size_t n)
{
	struct command command CLEANUP(command_deinit) = {0};
	int error = command_init(&command, data, n);

	if (error == 0)
		error = obey(integration, &command);
	if (error < 0) {
		integration->n_refused++;
		return MESSAGE_ERR;
	}
	return command.kind == MESSAGE_GET_INTEGRATION_MODE ? MESSAGE_INTEGRATION_MODE_RESPONSE : MESSAGE_ACK;
}

bool integration_is_empty(const struct integration *integration)
{
	return (integration->has_spoken || integration->scope == SCOPE_BENCHMARKS) &&
	       integration->n_benchmarks == 0;
}
