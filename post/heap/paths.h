/* paths.h: what each call stack did to the heap: allocated, held at the peak, never freed, churned.
 *
 * Built on replay.h, whose blocks it follows. Memory grows with the number of live blocks, of distinct
 * (process, stack) pairs and of threads, never with that of events. What was live at a peak is exact: a
 * pair's figure is put aside at its first change after a new peak, so that no second pass is needed.
 */
#ifndef POST_HEAP_PATHS_H
#define POST_HEAP_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/replay.h"
#include "heap/timeline.h"

/* Blocks that ended, by how long they lived: below 1 µs, 10 µs, 100 µs, 1 ms, 10 ms, 100 ms, 1 s, and longer.
 */
#define HEAP_N_LIFETIMES 8

#define HEAP_NO_STACK UINT32_MAX

/* Counts of blocks, bytes and ns. */
struct heap_tally {
	uint64_t n_total; /* allocated */
	uint64_t total_bytes;
	uint64_t n_temporary; /* freed by the thread that allocated them, before its next allocation */
	uint64_t temporary_bytes;
	uint64_t n_live; /* at the end of the recording */
	uint64_t live_bytes;
	uint64_t n_leaked; /* never freed: live at the end, or when their process exited or called exec */
	uint64_t leaked_bytes;
	uint64_t n_peak; /* live at the peak of the whole process tree */
	uint64_t peak_bytes;
	uint64_t n_own_peak; /* live at the peak of their own process */
	uint64_t own_peak_bytes;
	uint64_t lifetime; /* sum over all blocks; those never freed count to their process's end */
	uint64_t lifetimes[HEAP_N_LIFETIMES];
};

/* What one call stack did in one process. */
struct heap_site {
	uint32_t process; /* index of a heap_paths_process */
	uint32_t stack;
	struct heap_tally tally;
};

/* One process: from its fork to its exit, across exec. Memory shared by a Fork belongs to the process that
 * shared it first. */
struct heap_paths_process {
	uint32_t pid;
	uint64_t n_total;
	uint64_t total_bytes;
	uint64_t n_freed;
	uint64_t n_live; /* at the end */
	uint64_t live_bytes;
	uint64_t peak_bytes; /* the largest live_bytes */
	uint64_t peak_time;
};

/* The most that one stack held, over all processes. */
struct heap_stack_peak {
	uint64_t bytes;
	uint64_t n_blocks; /* at that moment */
};

/* Of what is counted. */
struct heap_totals {
	uint64_t n_total;
	uint64_t total_bytes;
	uint64_t n_freed;
	uint64_t n_overwritten; /* ended by an allocation at their own address: a free was not seen */
	uint64_t n_live;
	uint64_t live_bytes;
	uint64_t peak_bytes;
	uint64_t n_peak; /* blocks at that moment */
	uint64_t peak_time;
};

struct heap_paths;

/* For stacks numbered 0 to n_stacks - 1, and times from `begin` to `end` (which only the timeline needs).
 * 0 or -ENOMEM. */
int heap_paths_new(size_t n_stacks, uint64_t begin, uint64_t end, struct heap_paths **ret_paths);

/* Applies one row of the replay order (order.h). `stack` is that of an allocation; HEAP_NO_STACK: the block
 * is not counted. The row's stack_hash is not looked at. 0, -ENOMEM, or -EINVAL for an unknown stack. */
int heap_paths_apply(struct heap_paths *paths, const struct heap_row *row, uint32_t stack);

/* Completes the tallies; nothing may be applied afterwards. `end` is the time of the last event. */
void heap_paths_finish(struct heap_paths *paths, uint64_t end);

/* All of these are owned by `paths`; the tallies are complete after heap_paths_finish. */
const struct heap_sums *heap_paths_sums(const struct heap_paths *paths); /* of all rows, counted or not */
const struct heap_totals *heap_paths_totals(const struct heap_paths *paths);
const struct heap_timeline *heap_paths_timeline(const struct heap_paths *paths);
size_t heap_paths_n_sites(const struct heap_paths *paths);
const struct heap_site *heap_paths_site(const struct heap_paths *paths, size_t index);
size_t heap_paths_n_processes(const struct heap_paths *paths);
const struct heap_paths_process *heap_paths_process(const struct heap_paths *paths, size_t index);
const struct heap_stack_peak *heap_paths_stack_peak(const struct heap_paths *paths, size_t stack);

/* Adds `more` to *sum, field by field. */
void heap_tally_add(struct heap_tally *sum, const struct heap_tally *more);

/* NULL-safe; returns NULL. */
struct heap_paths *heap_paths_free(struct heap_paths *paths);

#endif
