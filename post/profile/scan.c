/* scan.c: what an artifact says as a whole. */
#include "profile/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/reader.h"
#include "util/cleanup.h"

#define EVENTS_PER_REPORT 65536

/* One of the two passes. */
struct pass {
	struct scan *scan;
	struct modules *modules; /* of the first one */
	struct benchmark_heaps heaps;
	const struct scan_progress *progress;
	int fd;
	uint64_t size; /* of the file */
};

static int report(const struct pass *pass)
{
	off_t at = lseek(pass->fd, 0, SEEK_CUR);
	uint64_t thousandths = 0;

	if (at > 0 && pass->size > 0)
		thousandths = (uint64_t)at >= pass->size ? 1000
		                                         : (uint64_t)((double)at / (double)pass->size * 1000);
	return pass->progress->report(pass->progress->context, (unsigned)thousandths) ? -EINTR : 0;
}

static int note_process(struct scan *scan, const struct event *event)
{
	uint64_t *value = number_map_at(&scan->processes, event->pid);

	if (!value)
		return -ENOMEM;
	if (event->type == EVENT_FORK)
		*value = UINT64_C(2) + event->parent_pid;
	else if (*value == 0)
		*value = 1;
	return 0;
}

static int note_hash(struct number_map *map, uint64_t hash)
{
	return number_map_at(map, hash) ? 0 : -ENOMEM;
}

static int note_mapping(struct pass *pass, const struct event *event)
{
	uint32_t module;
	int r = modules_find(pass->modules, &event->mapping, &module);

	return r > 0 ? timeline_add(pass->scan->timeline, event, module) : r;
}

/* First pass. */
static int note(struct pass *pass, const struct event *event)
{
	struct scan *scan = pass->scan;
	int r = note_process(scan, event);

	if (scan->n_events++ == 0 || event->timestamp < scan->first_time)
		scan->first_time = event->timestamp;
	if (r < 0)
		return r;
	if (event->type == EVENT_STACK_DEFINITION) {
		scan->n_definitions++;
		scan->n_truncated += event->stack.truncated;
		return note_hash(&scan->defined, event->stack.hash);
	}
	if (event->stack_hash)
		r = note_hash(&scan->named, event->stack_hash);
	else
		scan->n_without_stack += event_is_allocation(event->type);
	if (r >= 0 && event->type == EVENT_MAPPING)
		r = note_mapping(pass, event);
	else if (r >= 0)
		r = timeline_add(scan->timeline, event, 0);
	return r < 0 ? r : heap_order_measure(scan->order, event);
}

static int play_settled(struct pass *pass)
{
	struct heap_row row;

	while (heap_order_next(pass->scan->order, &row)) {
		int r = benchmark_heaps_apply(&pass->heaps, &row);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Second pass. */
static int play(struct pass *pass, const struct event *event)
{
	int r = heap_order_add(pass->scan->order, event);

	return r < 0 ? r : play_settled(pass);
}

static int read_events(struct pass *pass, struct artifact_reader *reader,
        int (*use)(struct pass *pass, const struct event *event))
{
	struct event event;
	uint64_t n = 0;
	int r;

	while ((r = artifact_reader_next(reader, &event)) == ARTIFACT_EVENT) {
		r = use(pass, &event);
		if (r >= 0 && ++n % EVENTS_PER_REPORT == 0)
			r = report(pass);
		if (r < 0)
			return r;
	}
	return r;
}

static int run_pass(struct pass *pass, int (*use)(struct pass *pass, const struct event *event))
{
	struct artifact_reader *reader;
	struct stat status;
	int r;

	if (fstat(pass->fd, &status) < 0 || lseek(pass->fd, 0, SEEK_SET) < 0)
		return -errno;
	pass->size = (uint64_t)status.st_size;
	r = artifact_reader_new(pass->fd, &reader);
	if (r < 0)
		return r;
	r = read_events(pass, reader, use);
	pass->scan->n_malformed = artifact_reader_n_malformed(reader);
	pass->scan->n_unknown = artifact_reader_n_unknown(reader);
	if (r == ARTIFACT_CUT || r == ARTIFACT_CORRUPT) {
		pass->scan->cut = true;
		pass->scan->cut_reason = artifact_reader_reason(reader);
	}
	artifact_reader_free(reader);
	return r < 0 ? r : 0;
}

int scan_artifact(struct scan *scan, int fd, struct modules *modules, const struct scan_progress *progress)
{
	struct pass pass = {.scan = scan, .modules = modules, .progress = progress, .fd = fd};
	int r = timeline_new(&scan->timeline);

	if (r >= 0)
		r = heap_order_new(&scan->order);
	if (r >= 0)
		r = run_pass(&pass, note);
	return r;
}

static int run_heap_pass(struct pass *pass)
{
	int r;

	heap_order_begin(pass->scan->order);
	r = run_pass(pass, play);
	if (r < 0)
		return r;
	heap_order_end(pass->scan->order);
	r = play_settled(pass);
	benchmark_heaps_finish(&pass->heaps);
	return r;
}

int scan_heap(struct scan *scan, int fd, const struct scan_progress *progress)
{
	struct pass pass = {.scan = scan, .progress = progress, .fd = fd};
	struct heap_replay *replay;
	int r = heap_replay_new(&replay);

	if (r < 0)
		return r;
	r = benchmark_heaps_init(&pass.heaps, scan->benchmarks, replay);
	if (r >= 0)
		r = run_heap_pass(&pass);
	scan->sums = *heap_replay_sums(replay);
	scan->n_disordered = heap_order_n_forced(scan->order);
	scan->heaps = STEAL_PTR(pass.heaps.heaps);
	benchmark_heaps_deinit(&pass.heaps);
	heap_replay_free(replay);
	scan->order = heap_order_free(scan->order);
	return r;
}

uint64_t scan_n_undefined(const struct scan *scan)
{
	const struct number_entry *entry;
	uint64_t n = 0;
	size_t at = 0;

	while ((entry = number_map_each(&scan->named, &at)))
		n += !number_map_has(&scan->defined, entry->key);
	return n;
}

void scan_deinit(struct scan *scan)
{
	free(scan->heaps);
	scan->order = heap_order_free(scan->order);
	scan->timeline = timeline_free(scan->timeline);
	number_map_deinit(&scan->defined);
	number_map_deinit(&scan->named);
	number_map_deinit(&scan->processes);
}
