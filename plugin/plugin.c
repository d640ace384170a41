/* plugin.c: the exported symbol: the memory instrument's face towards the host. */
#include <errno.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "runner_plugin.h"

#include "session.h"
#include "settings.h"
#include "track/listener.h"
#include "util/cleanup.h"

static int open_session(const struct runner_host *host, const struct runner_setting *given, uint32_t n_given,
	void **ret_state)
{
	struct log_sink log = {host->log, host->context};
	struct settings settings;
	struct session *session;
	int r = settings_parse(given, n_given, &log, &settings);

	if (!r)
		r = session_new(host, &settings, &session);
	if (r)
		return r;
	*ret_state = session;
	return 0;
}

/* With rights from its file the runner serves users who have none: they must not come to record what a set-uid
 * program does, so that such programs have no effect below it. */
static int child_setup(void *state)
{
	(void)state;
	if (getauxval(AT_SECURE) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return listener_install();
}

static int pre_exec(void *state, const struct runner_child *child)
{
	return session_watch(state, child->pid, child->setup_fd);
}

static int start(void *state)
{
	session_set_recording(state, true);
	return 0;
}

static int stop(void *state)
{
	session_set_recording(state, false);
	return 0;
}

static int figures(void *state, struct runner_figure *ret_figures, uint32_t n_figures)
{
	return session_figures(state, ret_figures, n_figures);
}

static int post_exec(void *state, int32_t wait_status, int (*progress)(void *, uint32_t, const char *),
	void *progress_context, struct runner_outcome *ret_outcome)
{
	(void)wait_status;
	return session_finish(state, progress, progress_context, ret_outcome);
}

static int integration(void *state, const char *name, const char *version)
{
	return session_set_integration(state, name, version);
}

static int benchmark(void *state, int32_t pid, const char *uri, uint64_t timestamp)
{
	(void)pid;
	return session_name_benchmark(state, uri, timestamp);
}

static int marker(void *state, int32_t pid, uint32_t kind, uint64_t timestamp)
{
	(void)pid;
	return session_mark(state, kind, timestamp);
}

static int benchmark_figures(void *state, uint64_t index, const char **ret_uri, struct runner_figure *ret_figures,
	uint32_t n_figures)
{
	return session_benchmark_figures(state, index, ret_uri, ret_figures, n_figures);
}

static void close_session(void *state)
{
	session_free(state);
}

__attribute__((visibility("default"))) extern const struct runner_plugin runner_plugin;

const struct runner_plugin runner_plugin = {
	.abi_major = RUNNER_ABI_MAJOR,
	.size = sizeof(struct runner_plugin),
	.name = "memory",
	.version = MEMSTACKS_VERSION,
	.summary = "records every heap allocation of a process tree, with the stack it was made from",
	.options = settings_options,
	.n_options = SETTINGS_N_OPTIONS,
	.open = open_session,
	.child_setup = child_setup,
	.pre_exec = pre_exec,
	.start = start,
	.stop = stop,
	.figures = figures,
	.post_exec = post_exec,
	.close = close_session,
	.integration = integration,
	.benchmark = benchmark,
	.marker = marker,
	.benchmark_figures = benchmark_figures,
};
