/* session.h: one run of the memory instrument: everything that lives from open to close. */
#ifndef PLUGIN_SESSION_H
#define PLUGIN_SESSION_H

#include "settings.h"

struct session;

/* See runner_plugin.open: checks rights, forks the guardian, loads and attaches the eBPF programs, makes the
 * artifact's folder. `host` is used until session_free. */
int session_new(const struct runner_host *host, const struct settings *settings, struct session **ret_session);

/* See runner_plugin.pre_exec; takes over `listener`. */
int session_watch(struct session *session, uint32_t pid, int listener);

void session_set_recording(struct session *session, bool recording);

/* See runner_plugin.integration, .benchmark, .marker. */
int session_set_integration(struct session *session, const char *name, const char *version);
int session_name_benchmark(struct session *session, const char *uri, uint64_t timestamp);
int session_mark(struct session *session, uint32_t kind, uint64_t timestamp);

/* See runner_plugin.benchmark_figures. */
int session_benchmark_figures(struct session *session, uint64_t index, const char **ret_uri,
	struct runner_figure *ret_figures, uint32_t n_figures);

/* See runner_plugin.figures. */
int session_figures(struct session *session, struct runner_figure *ret_figures, uint32_t n_figures);

/* See runner_plugin.post_exec. */
int session_finish(struct session *session, int (*progress)(void *, uint32_t, const char *), void *progress_context,
	struct runner_outcome *ret_outcome);

/* NULL-safe; returns NULL. */
struct session *session_free(struct session *session);

#endif
