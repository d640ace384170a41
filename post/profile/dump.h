/* dump.h: from a finished artifact to a complete profile folder (FORMATS.md sections 1 and 3 to 6). */
#ifndef POST_PROFILE_DUMP_H
#define POST_PROFILE_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "artifact/benchmarks.h"
#include "heap/replay.h"
#include "profile/benchmark_heaps.h"
#include "util/log.h"

/* A file that was mapped during the run, kept open since then. (dev, ino) as in the Mapping events. */
struct dump_source {
	uint64_t dev;
	uint64_t ino;
	int fd;             /* open for reading; the caller's; -1 where it could not be opened */
	const char *path;   /* as the process saw it */
	const char *reason; /* why fd is -1, else NULL */
};

struct dump_name {
	uint32_t pid;
	const char *name; /* comm of the thread-group leader as last seen */
};

struct dump_lost {
	const char *counter;
	uint64_t value;
};

struct dump_not_traced {
	const char *path;
	uint32_t pid;
	const char *reason;
};

/* Everything is borrowed for the duration of profile_dump. */
struct dump_request {
	int profile_fd;     /* the profile folder */
	uint32_t owner_uid; /* files are given to this owner (fchown; no error when it is already) */
	uint32_t owner_gid;
	const char *artifact_name;    /* below results/ */
	const char *arch;             /* "x86_64" or "aarch64" */
	const char *integration_name; /* "" when none announced itself */
	const char *integration_version;
	const struct dump_source *sources;
	size_t n_sources;
	const struct dump_name *names;
	size_t n_names;
	const struct dump_lost *lost;
	size_t n_lost;
	const struct dump_not_traced *not_traced;
	size_t n_not_traced;
	unsigned n_threads;       /* for dumping modules in parallel; 0: one per CPU this process may use */
	const char *debug_folder; /* separate debug files are below it; NULL: /usr/lib/debug */
	const char *perf_map_folder; /* where perf-<pid>.map files are harvested: "/tmp"; NULL: nowhere */
	const struct log_sink *log;
	/* See runner_plugin.post_exec; may be NULL. Called on the calling thread only. */
	int (*progress)(void *context, uint32_t thousandths, const char *what);
	void *progress_context;
};

struct dump_result {
	struct heap_sums sums;
	uint64_t n_events;
	uint64_t n_definitions;   /* StackDefinition events */
	uint64_t n_hashes;        /* distinct hashes defined */
	uint64_t n_truncated;     /* definitions whose copy filled its budget */
	uint64_t n_without_stack; /* allocations without stack_hash */
	uint64_t n_undefined;     /* distinct hashes named and never defined */
	uint64_t n_processes;     /* pids with events */
	uint64_t n_modules;
	uint64_t n_unreadable;
	bool cut;                     /* the artifact ends in the middle */
	struct benchmarks benchmarks; /* of ExecutionTimestamps.msgpack */
	struct benchmark_heap *heaps; /* of each of them; NULL where the artifact was not read */
};

/* A zeroed one is accepted. */
void dump_result_deinit(struct dump_result *result);

/* Reads results/<artifact_name> twice as a stream, writes symbols, unwind data, debug info, perf maps,
 * results/ExecutionTimestamps.msgpack (when absent; else the benchmarks in it are summed up) and
 * memory_metadata.json. A file that is mapped and not among the sources is opened by its path, if that is
 * still the same file. A module that cannot be read is a warning and an entry of `unreadable`; where the
 * reading finds events lost, `lost` says so too. 0 or a negative errno, of which *ret_result tells what was
 * found nevertheless: the folder could not be completed, what is there stays. -EINTR: `progress` asked to
 * stop; the metadata speak of what was done until then. */
int profile_dump(const struct dump_request *request, struct dump_result *ret_result);

#endif
