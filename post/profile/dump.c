/* dump.c: from a finished artifact to a complete profile folder. */
#include "profile/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "profile/executions.h"
#include "profile/metadata.h"
#include "profile/module_dump.h"
#include "profile/modules.h"
#include "profile/perf_map.h"
#include "profile/pool.h"
#include "profile/scan.h"
#include "util/cleanup.h"
#include "util/file.h"

/* Shares of the work in thousandths of all of it. */
#define SHARE_SCAN    150
#define SHARE_HEAP    150
#define SHARE_MODULES 600

#define WARNINGS_MAX 20 /* about modules; the metadata have them all */

struct dump {
	const struct dump_request *request;
	struct benchmarks benchmarks;
	struct scan scan;
	struct modules modules;
	const struct placement *placements;
	size_t n_placements;
	size_t *order; /* in which the modules are dumped: large ones first */
	int artifact;  /* open for reading, or -1 */
	int heap_error;
	atomic_uint heap_thousandths; /* of the second pass */
	bool interrupted;
};

static int report(struct dump *dump, unsigned thousandths, const char *what)
{
	const struct dump_request *request = dump->request;

	if (request->progress && request->progress(request->progress_context, thousandths, what))
		dump->interrupted = true;
	return dump->interrupted;
}

static int report_scan(void *context, unsigned thousandths)
{
	return report(context, thousandths * SHARE_SCAN / 1000, "reading the recording");
}

/* The folder belongs to the user: what is in it may have become a link meanwhile. */
static int open_results(const struct dump_request *request)
{
	int fd = openat(request->profile_fd, "results", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int scan(struct dump *dump)
{
	struct scan_progress progress = {.report = report_scan, .context = dump};
	const char *name = dump->request->artifact_name;
	CLEANUP_CLOSE int results = open_results(dump->request);

	if (results >= 0)
		dump->artifact =
		        openat(results, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (dump->artifact < 0) {
		log_error(dump->request->log, "opening results/%s: %s", name, strerror(errno));
		return -errno;
	}
	return scan_artifact(&dump->scan, dump->artifact, &dump->modules, &progress);
}

static off_t size_of(const struct module *module)
{
	struct stat status;

	if (!module->source || module->source->fd < 0 || fstat(module->source->fd, &status) < 0)
		return 0;
	return status.st_size;
}

struct sized {
	off_t size;
	size_t module;
};

static int larger_first(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

/* A large module at the end would keep one thread busy and the others waiting. */
static int order_modules(struct dump *dump)
{
	size_t n = dump->modules.n;
	CLEANUP_FREE struct sized *sized = calloc(n + 1, sizeof(sized[0]));

	dump->order = calloc(n + 1, sizeof(dump->order[0]));
	if (!sized || !dump->order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sized[i] = (struct sized){.size = size_of(&dump->modules.items[i]), .module = i};
	qsort(sized, n, sizeof(sized[0]), larger_first);
	for (size_t i = 0; i < n; i++)
		dump->order[i] = sized[i].module;
	return 0;
}

/* What the second pass asks on its thread. */
struct heap_progress {
	struct dump *dump;
	const atomic_bool *stop;
};

static int note_heap(void *context, unsigned thousandths)
{
	struct heap_progress *progress = context;

	atomic_store(&progress->dump->heap_thousandths, thousandths);
	return atomic_load(progress->stop);
}

static void read_heap(struct dump *dump, const atomic_bool *stop)
{
	struct heap_progress context = {.dump = dump, .stop = stop};
	struct scan_progress progress = {.report = note_heap, .context = &context};

	dump->heap_error = scan_heap(&dump->scan, dump->artifact, &progress);
	atomic_store(&dump->heap_thousandths, 1000);
}

/* The first job is the recording's second pass, which needs nothing of the modules and keeps one thread busy
 * for long; the others are a module each. */
static void run_job(void *context, size_t job, const atomic_bool *stop)
{
	struct dump *dump = context;

	if (job == 0)
		read_heap(dump, stop);
	else
		module_dump(&dump->modules.items[dump->order[job - 1]], dump->request, stop);
}

static int watch_jobs(void *context, size_t n_done)
{
	struct dump *dump = context;
	size_t n_jobs = dump->modules.n + 1;
	unsigned heap = atomic_load(&dump->heap_thousandths) * SHARE_HEAP / 1000;

	return report(dump, SHARE_SCAN + heap + (unsigned)(n_done * SHARE_MODULES / n_jobs),
	        heap < SHARE_HEAP && n_done + 1 == n_jobs ? "reading the recording"
	                                                  : "reading symbols and unwind data");
}

static int run_jobs(struct dump *dump)
{
	struct pool_work work = {
	        .n_jobs = dump->modules.n + 1,
	        .n_threads = dump->request->n_threads,
	        .run = run_job,
	        .watch = watch_jobs,
	        .context = dump,
	};
	int r = order_modules(dump);

	if (r >= 0)
		r = pool_run(&work);
	return r < 0 ? r : dump->heap_error;
}

/* A mapping that shows no segment of its file cannot be placed: say so once a module. */
static void check_placements(struct dump *dump)
{
	for (size_t i = 0; i < dump->n_placements; i++) {
		const struct placement *placement = &dump->placements[i];
		struct module *module = &dump->modules.items[placement->module];
		uint64_t bias;

		if (module->is_misplaced || module->elf.n_segments == 0)
			continue;
		if (module_elf_bias(&module->elf, placement->start, placement->file_offset,
		            placement->end - placement->start, &bias))
			continue;
		module->is_misplaced = true;
		module_add_reason(module, "mapped from %#llx on, where the file has no segment",
		        (unsigned long long)placement->file_offset);
	}
}

static void warn_of_modules(const struct dump *dump)
{
	const struct log_sink *log = dump->request->log;
	size_t n = 0;

	for (size_t i = 0; i < dump->modules.n; i++) {
		const struct module *module = &dump->modules.items[i];

		for (size_t j = 0; j < module->n_reasons; j++)
			if (n++ < WARNINGS_MAX)
				log_warning(log, "%s: %s", module->path, module->reasons[j]);
	}
	if (n > WARNINGS_MAX)
		log_warning(
		        log, "%zu more such warnings: see `unreadable` in " METADATA_NAME, n - WARNINGS_MAX);
}

/* When the run began, by the wall clock. */
static time_t start_of_run(const struct scan *scan)
{
	struct timespec wall, monotonic;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	return wall.tv_sec - monotonic.tv_sec + (time_t)(scan->first_time / 1000000000) - 1;
}

static void copy_perf_maps(struct dump *dump)
{
	const struct dump_request *request = dump->request;
	CLEANUP_CLOSE int folder = -1;
	const struct number_entry *entry;
	size_t at = 0;

	if (!request->perf_map_folder)
		return;
	folder = open(request->perf_map_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return;
	while ((entry = number_map_each(&dump->scan.processes, &at))) {
		uint32_t pid = (uint32_t)entry->key;
		int r = perf_map_copy(request, folder, pid, start_of_run(&dump->scan));

		if (r < 0)
			log_warning(request->log, "copying perf-%u.map: %s", pid, strerror(-r));
	}
}

/* Where nobody has written it, no benchmark reported itself: the file says so. */
static int write_execution_timestamps(const struct dump_request *request)
{
	static const struct executions none;
	int r = executions_write(&none, request->profile_fd, request->owner_uid, request->owner_gid);

	return r == -EEXIST ? 0 : r;
}

static int read_benchmarks(struct dump *dump)
{
	int r = benchmarks_read(dump->request->profile_fd, &dump->benchmarks);

	if (r < 0)
		log_error(dump->request->log, "reading " EXECUTIONS_NAME ": %s", strerror(-r));
	dump->scan.benchmarks = &dump->benchmarks;
	return r;
}

static int write_metadata(const struct dump *dump)
{
	const struct scan *scan = &dump->scan;
	const struct dump_lost lost[] = {
	        {"artifact_cut", scan->cut},
	        {"malformed_events", scan->n_malformed},
	        {"undefined_stacks", scan_n_undefined(scan)},
	        {"mappings_not_kept", dump->modules.n_dropped + timeline_n_dropped(scan->timeline)},
	};
	const struct metadata metadata = {
	        .request = dump->request,
	        .scan = scan,
	        .modules = &dump->modules,
	        .placements = dump->placements,
	        .n_placements = dump->n_placements,
	        .lost = lost,
	        .n_lost = N_ELEMENTS(lost),
	};
	int r = metadata_write(&metadata);

	if (r < 0)
		log_error(dump->request->log, "writing " METADATA_NAME ": %s", strerror(-r));
	return r;
}

static void warn_of_scan(const struct dump *dump)
{
	const struct log_sink *log = dump->request->log;
	const struct scan *scan = &dump->scan;

	if (scan->cut)
		log_warning(log, "results/%s: %s", dump->request->artifact_name, scan->cut_reason);
	if (scan->n_malformed)
		log_warning(log, "%llu events are malformed", (unsigned long long)scan->n_malformed);
	if (scan->n_unknown)
		log_debug(log, "%llu events of unknown types", (unsigned long long)scan->n_unknown);
	if (scan->n_disordered)
		log_warning(log, "%llu events are too far out of order: the peak is not exact",
		        (unsigned long long)scan->n_disordered);
}

static void fill_result(struct dump *dump, struct dump_result *result)
{
	struct scan *scan = &dump->scan;

	*result = (struct dump_result){
	        .sums = scan->sums,
	        .n_events = scan->n_events,
	        .n_definitions = scan->n_definitions,
	        .n_hashes = scan->defined.n,
	        .n_truncated = scan->n_truncated,
	        .n_without_stack = scan->n_without_stack,
	        .n_undefined = scan_n_undefined(scan),
	        .n_processes = scan->processes.n,
	        .n_modules = dump->modules.n,
	        .cut = scan->cut,
	        .benchmarks = dump->benchmarks,
	        .heaps = STEAL_PTR(scan->heaps),
	};
	dump->benchmarks = (struct benchmarks){0};
	for (size_t i = 0; i < dump->modules.n; i++)
		result->n_unreadable += dump->modules.items[i].n_reasons > 0;
}

/* What can fail half-way; the metadata are written in any case. */
static int dump_all(struct dump *dump)
{
	int r = modules_init(&dump->modules, dump->request);

	if (r >= 0)
		r = read_benchmarks(dump);
	if (r >= 0)
		r = scan(dump);
	if (!dump->scan.timeline)
		return r < 0 ? r : -EIO;
	if (timeline_finish(dump->scan.timeline, &dump->placements, &dump->n_placements) < 0)
		return -ENOMEM;
	if (r >= 0)
		r = run_jobs(dump);
	warn_of_scan(dump);
	check_placements(dump);
	warn_of_modules(dump);
	if (r >= 0)
		copy_perf_maps(dump);
	return r;
}

int profile_dump(const struct dump_request *request, struct dump_result *ret_result)
{
	struct dump dump = {.request = request, .artifact = -1};
	int r = dump_all(&dump), written = 0;

	if (dump.scan.timeline) {
		written = write_metadata(&dump);
		fill_result(&dump, ret_result);
	} else {
		*ret_result = (struct dump_result){0};
	}
	if (r >= 0)
		r = written;
	written = write_execution_timestamps(request);
	if (written < 0)
		log_error(request->log, "writing ExecutionTimestamps.msgpack: %s", strerror(-written));
	if (r >= 0)
		r = written;
	if (r >= 0)
		report(&dump, 1000, "the profile is complete");
	free(dump.order);
	cleanup_close(&dump.artifact);
	benchmarks_deinit(&dump.benchmarks);
	scan_deinit(&dump.scan);
	modules_deinit(&dump.modules);
	return r;
}

void dump_result_deinit(struct dump_result *result)
{
	benchmarks_deinit(&result->benchmarks);
	free(result->heaps);
	*result = (struct dump_result){0};
}
