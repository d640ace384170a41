/* benchmark_heaps.h: what each benchmark did to the heap, from the rows in replay order. */
#ifndef POST_PROFILE_BENCHMARK_HEAPS_H
#define POST_PROFILE_BENCHMARK_HEAPS_H

#include <stddef.h>
#include <stdint.h>

#include "artifact/benchmarks.h"
#include "heap/replay.h"
#include "util/number_map.h"

/* Over all windows of one benchmark. Bytes are those asked for. A block belongs to the window in which it was
 * allocated; the process tree counts as one. */
struct benchmark_heap {
	uint64_t n_allocations;
	uint64_t bytes_allocated;
	uint64_t peak_bytes; /* the most that blocks of one window held at a time within it */
	uint64_t n_stacks;   /* distinct */
	/* Allocated before the window and freed in it: also blocks whose allocation was not recorded, since
	 * nothing is between benchmarks; of those the size is not known. */
	uint64_t n_freed_from_before;
	uint64_t bytes_freed_from_before;
	/* Allocated in a window, and live when it ended. */
	uint64_t n_live_after_stop;
	uint64_t bytes_live_after_stop;
};

struct benchmark_heaps {
	const struct benchmarks *benchmarks;
	struct benchmark_heap *heaps; /* by index of benchmarks->benchmarks */
	struct heap_replay *replay;
	size_t window;   /* the one that is open, or the next one */
	uint64_t n_live; /* blocks of the open window, and their bytes */
	uint64_t bytes_live;
	struct number_map stacks; /* pairs of stack and benchmark */
};

/* Watches `replay`, which nobody else may observe. `benchmarks` and `replay` are borrowed, and `heaps` must
 * stay where it is. 0 or -ENOMEM. */
int benchmark_heaps_init(
        struct benchmark_heaps *heaps, const struct benchmarks *benchmarks, struct heap_replay *replay);

/* Applies the row to the replay. 0 or a negative errno. */
int benchmark_heaps_apply(struct benchmark_heaps *heaps, const struct heap_row *row);

/* After the last row: closes the window that is open. */
void benchmark_heaps_finish(struct benchmark_heaps *heaps);

/* A zeroed one is accepted. */
void benchmark_heaps_deinit(struct benchmark_heaps *heaps);

#endif
