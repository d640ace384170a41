/* session.c: order of things. */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drain/drain.h"
#include "figures.h"
#include "kernel/closing.h"
#include "kernel/programs.h"
#include "profile/dump.h"
#include "profile/executions.h"
#include "rights.h"
#include "track/files.h"
#include "track/guardian.h"
#include "track/hold.h"
#include "util/cleanup.h"

/* Measured against -5 on realistic heaps: half the bytes at the same speed. */
#define ZSTD_LEVEL (-1)

struct session {
	const struct runner_host *host;
	struct log_sink log;
	struct settings settings;
	struct guardian guardian;
	struct programs *programs;
	struct untraced *untraced;
	struct files *files;
	struct hold *hold;
	struct closing *closing; /* of what was attached */
	struct ring *ring;
	struct converter converter;
	struct artifact_writer *writer;
	struct drain *drain;
	int artifact;
	char artifact_name[64];
	struct executions executions;
	char *integration_name; /* NULL: none announced itself */
	char *integration_version;
	bool finished;
	struct dump_result result;
};

static int make_results(const struct session *session)
{
	CLEANUP_CLOSE int fd = -1;

	if (mkdirat(session->host->profile_fd, "results", 0700) && errno != EEXIST)
		return -errno;
	fd = openat(session->host->profile_fd, "results", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fchown(fd, session->host->owner_uid, session->host->owner_gid))
		return -errno;
	return steal_fd(&fd);
}

static int open_artifact(struct session *session, uint32_t pid)
{
	CLEANUP_CLOSE int folder = make_results(session);
	int fd;

	if (folder < 0) {
		log_error(&session->log, "cannot make the folder results in %s: %s", session->host->profile_path,
			strerror(-folder));
		return folder;
	}
	snprintf(session->artifact_name, sizeof(session->artifact_name), "%u.MemtrackArtifact.msgpack", pid);
	fd = openat(folder, session->artifact_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchown(fd, session->host->owner_uid, session->host->owner_gid)) {
		int r = -errno;

		log_error(&session->log, "cannot create %s/results/%s: %s", session->host->profile_path,
			session->artifact_name, strerror(-r));
		if (fd >= 0)
			close(fd);
		return r;
	}
	session->artifact = fd;
	return artifact_writer_new(fd, ZSTD_LEVEL, &session->writer);
}

static int load(struct session *session)
{
	struct programs_settings settings = {
		.with_stacks = session->settings.with_stacks,
		.stack_budget = session->settings.stack_budget,
		.identity = session->settings.identity,
		.scrub_stacks = session->settings.scrub_stacks,
		.define_always = session->settings.define_always,
		.loops_by_calls = session->settings.loops_by_calls,
		.mechanism = session->settings.mechanism,
	};
	int r = rights_check(&session->log);

	if (r)
		return r;
	r = guardian_start(&session->guardian);
	if (r) {
		log_error(&session->log, "cannot start the guardian process: %s", strerror(-r));
		return r;
	}
	r = programs_new(&settings, &session->log, &session->programs);
	if (r)
		return r;
	r = ring_new(programs_ring_fd(session->programs), RING_BYTES, &session->ring);
	if (r)
		log_error(&session->log, "cannot map the ring buffer: %s", strerror(-r));
	return r;
}

int session_new(const struct runner_host *host, const struct settings *settings, struct session **ret_session)
{
	struct session *session = calloc(1, sizeof(*session));
	int r;

	if (!session)
		return -ENOMEM;
	session->host = host;
	session->log = (struct log_sink){host->log, host->context};
	session->settings = *settings;
	session->artifact = -1;
	pthread_mutex_init(&session->converter.lock, NULL);
	r = load(session);
	if (!r)
		r = untraced_new(&session->log, &session->untraced);
	if (!r)
		r = files_new(session->programs, session->untraced, &session->log, &session->files);
	if (!r && host->wants_live)
		r = heap_replay_new(&session->converter.live);
	if (r) {
		session_free(session);
		return r;
	}
	session->converter.files = session->files;
	session->converter.untraced = session->untraced;
	*ret_session = session;
	return 0;
}

static bool flush_and_see(struct session *session, struct flush_request *ret_left)
{
	int r = programs_flush(session->programs, ret_left);

	if (r)
		log_warning(&session->log, "cannot send the calls that the kernel side has kept: %s", strerror(-r));
	return r == 0;
}

static void flush(void *context)
{
	struct flush_request left = {};

	flush_and_see(context, &left);
}

/* How long the last calls, and the ends of processes that are known to be over, are waited for. */
#define LAST_CALLS_MS 1000

/* Nobody adds a call any more: until all are in the ring. `is_over`: until every process has recorded its end, too,
 * which comes a moment after the kernel let go of its listener. */
static void flush_all(struct session *session, bool is_over)
{
	struct flush_request left = {};

	for (unsigned i = 0; i < LAST_CALLS_MS; i++) {
		if (!flush_and_see(session, &left) || (!left.n_left && (!is_over || !left.n_processes)))
			return;
		usleep(1000);
	}
	if (left.n_left)
		log_warning(&session->log, "the last calls of %u processors do not reach the ring: they are missing",
			left.n_left);
	programs_add_lost(session->programs, LOST_RING_EVENTS, left.n_left); /* at least so many */
}

int session_watch(struct session *session, uint32_t pid, int listener)
{
	struct drain_settings settings = {
		.level = ZSTD_LEVEL,
		.n_workers = session->host->wants_live ? 1 : 0, /* the live heap wants events in order */
		.poll_ns = session->settings.poll_ns,
		.flush = flush,
		.flush_context = session,
		.log = &session->log,
	};
	int r;

	if (listener < 0) {
		log_error(&session->log, "cannot hold the benchmark where it loads code: no seccomp listener: %s",
			strerror(-listener));
		return listener;
	}
	r = guardian_watch(&session->guardian, listener);
	if (r)
		log_error(&session->log, "cannot hand the listener to the guardian: %s", strerror(-r));
	else
		r = open_artifact(session, pid);
	if (r) {
		close(listener);
		return r;
	}
	r = hold_start(listener, &session->guardian, session->programs, session->files, session->untraced,
		&session->log, &session->hold);
	if (!r)
		r = drain_start(&settings, session->ring, &session->converter, session->writer, &session->drain);
	if (r) {
		log_error(&session->log, "cannot start a thread: %s", strerror(-r));
		return r;
	}
	programs_set_root(session->programs, pid);
	return 0;
}

void session_set_recording(struct session *session, bool recording)
{
	programs_set_recording(session->programs, recording);
}

int session_set_integration(struct session *session, const char *name, const char *version)
{
	CLEANUP_FREE char *name_copy = strdup(name);
	CLEANUP_FREE char *version_copy = strdup(version);

	if (!name_copy || !version_copy)
		return -ENOMEM;
	free(session->integration_name);
	free(session->integration_version);
	session->integration_name = STEAL_PTR(name_copy);
	session->integration_version = STEAL_PTR(version_copy);
	return 0;
}

int session_name_benchmark(struct session *session, const char *uri, uint64_t timestamp)
{
	return executions_name(&session->executions, timestamp, uri);
}

int session_mark(struct session *session, uint32_t kind, uint64_t timestamp)
{
	return executions_mark(&session->executions, timestamp, kind);
}

int session_benchmark_figures(struct session *session, uint64_t index, const char **ret_uri,
	struct runner_figure *ret_figures, uint32_t n_figures)
{
	const struct dump_result *result = &session->result;

	if (!result->heaps || index >= result->benchmarks.n_benchmarks)
		return 0;
	*ret_uri = result->benchmarks.benchmarks[index].uri;
	return figures_fill_benchmark(
		&result->benchmarks.benchmarks[index], &result->heaps[index], ret_figures, n_figures);
}

int session_figures(struct session *session, struct runner_figure *ret_figures, uint32_t n_figures)
{
	struct figures_source source = {
		.programs = session->programs,
		.writer = session->writer,
		.counts = &session->converter.counts,
		.result = session->finished ? &session->result : NULL,
		.with_stacks = session->settings.with_stacks,
	};

	return figures_fill(&source, ret_figures, n_figures);
}

/* Takes off everything. `is_over`: nobody is left who could add a record, so that nothing has to wait for it. */
static void detach(struct session *session, bool is_over)
{
	struct descriptors links = {}, events = {};

	if (session->files)
		files_detach(session->files, &links);
	/* Who goes on is followed until its calls are no longer seen: after an exec that nobody saw they would be
	 * taken for those of the program before. */
	if (!is_over)
		descriptors_close(&links);
	if (session->programs)
		programs_detach(session->programs, &links, &events);
	/* Where nothing waits for the links alone, each takes its event with it. */
	if (is_over)
		descriptors_close(&events);
	session->closing = closing_start(&links, &events);
	if (!is_over)
		closing_wait_for_links(session->closing);
}

/* From here on nothing is recorded, and no process waits for this one. */
static int stop_recording(struct session *session)
{
	bool is_over = hold_is_over(session->hold);
	int r;

	session->hold = hold_stop(session->hold);
	guardian_release(&session->guardian, is_over);
	if (is_over)
		flush_all(session, true);
	detach(session, is_over);
	if (!is_over)
		flush_all(session, false);
	r = drain_finish(session->drain);
	session->drain = NULL;
	if (!r)
		r = artifact_writer_finish(session->writer);
	names_refresh(&session->converter.names);
	return r;
}

static struct dump_source *list_sources(struct session *session, size_t *ret_n)
{
	size_t n = files_count(session->files);
	struct dump_source *sources = calloc(n + 1, sizeof(*sources));

	for (size_t i = 0; sources && i < n; i++) {
		struct file_view view = files_get(session->files, i);

		sources[i] = (struct dump_source){view.dev, view.ino, view.fd, view.path, view.reason};
	}
	*ret_n = n;
	return sources;
}

static struct dump_not_traced *list_untraced(struct session *session, size_t *ret_n)
{
	size_t n = untraced_count(session->untraced);
	struct dump_not_traced *list = calloc(n + 1, sizeof(*list));

	for (size_t i = 0; list && i < n; i++) {
		struct untraced_entry entry = untraced_get(session->untraced, i);

		list[i] = (struct dump_not_traced){entry.path, entry.pid, entry.reason};
	}
	*ret_n = n;
	return list;
}

static struct dump_name *list_names(struct session *session, size_t *ret_n)
{
	const struct names *names = &session->converter.names;
	struct dump_name *list = calloc(names->n_entries + 1, sizeof(*list));

	for (size_t i = 0; list && i < names->n_entries; i++)
		list[i] = (struct dump_name){names->entries[i].pid, names->entries[i].comm};
	*ret_n = names->n_entries;
	return list;
}

static int dump(struct session *session, int (*progress)(void *, uint32_t, const char *), void *progress_context)
{
	struct dump_lost lost[FIGURES_N_LOST];
	struct dump_request request = {
		.profile_fd = session->host->profile_fd,
		.owner_uid = session->host->owner_uid,
		.owner_gid = session->host->owner_gid,
		.artifact_name = session->artifact_name,
#if defined(__x86_64__)
		.arch = "x86_64",
#else
		.arch = "aarch64",
#endif
		.integration_name = session->integration_name ?: "",
		.integration_version = session->integration_version ?: "",
		.lost = lost,
		.n_lost = figures_lost(session->programs, session->writer, &session->converter.counts, lost),
		.perf_map_folder = "/tmp",
		.log = &session->log,
		.progress = progress,
		.progress_context = progress_context,
	};
	CLEANUP_FREE struct dump_source *sources = list_sources(session, &request.n_sources);
	CLEANUP_FREE struct dump_not_traced *untraced = list_untraced(session, &request.n_not_traced);
	CLEANUP_FREE struct dump_name *names = list_names(session, &request.n_names);

	if (!sources || !untraced || !names)
		return -ENOMEM;
	request.sources = sources;
	request.not_traced = untraced;
	request.names = names;
	return profile_dump(&request, &session->result);
}

/* Where it cannot be written the profile is still worth having, and says of no benchmark. */
static int write_executions(struct session *session)
{
	int r = executions_write(&session->executions, session->host->profile_fd, session->host->owner_uid,
		session->host->owner_gid);

	if (r)
		log_error(&session->log, "cannot write %s/" EXECUTIONS_NAME ": %s", session->host->profile_path,
			strerror(-r));
	return r;
}

int session_finish(struct session *session, int (*progress)(void *, uint32_t, const char *), void *progress_context,
	struct runner_outcome *ret_outcome)
{
	struct dump_lost lost[FIGURES_N_LOST];
	size_t n_lost;
	int r = stop_recording(session), written = write_executions(session);

	/* What could not be written was reported and is counted as lost: the rest of the folder is still worth having. */
	if (r)
		log_warning(&session->log, "the artifact %s/results/%s is incomplete: %s", session->host->profile_path,
			session->artifact_name, strerror(-r));
	r = dump(session, progress, progress_context);
	session->finished = r == 0;
	if (!r)
		r = written;
	n_lost = figures_lost(session->programs, session->writer, &session->converter.counts, lost);
	for (size_t i = 0; i < n_lost; i++)
		ret_outcome->n_lost += lost[i].value;
	ret_outcome->n_lost += session->result.n_undefined;
	ret_outcome->n_not_traced = untraced_count(session->untraced);
	return r;
}

struct session *session_free(struct session *session)
{
	bool is_over;

	if (!session)
		return NULL;
	/* Without a hold the guardian never got the listener. */
	is_over = !session->hold || hold_is_over(session->hold);
	hold_stop(session->hold);
	guardian_release(&session->guardian, is_over);
	if (!session->closing)
		detach(session, false);
	closing_finish(session->closing);
	drain_finish(session->drain);
	artifact_writer_free(session->writer);
	heap_replay_free(session->converter.live);
	names_deinit(&session->converter.names);
	executions_deinit(&session->executions);
	free(session->integration_name);
	free(session->integration_version);
	dump_result_deinit(&session->result);
	pthread_mutex_destroy(&session->converter.lock);
	if (session->artifact >= 0)
		close(session->artifact);
	ring_free(session->ring);
	files_free(session->files);
	untraced_free(session->untraced);
	programs_free(session->programs);
	free(session);
	return NULL;
}
