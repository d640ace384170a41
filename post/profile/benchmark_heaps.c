/* benchmark_heaps.c: sums by window. */
#include "profile/benchmark_heaps.h"

#include <errno.h>
#include <stdlib.h>

#include "util/map64.h"

static const struct benchmark_window *open_window(const struct benchmark_heaps *heaps, uint64_t time)
{
	const struct benchmark_window *window = heaps->benchmarks->windows + heaps->window;

	return heaps->window < heaps->benchmarks->n_windows && window->begin <= time ? window : NULL;
}

static struct benchmark_heap *heap_of(struct benchmark_heaps *heaps, const struct benchmark_window *window)
{
	return &heaps->heaps[window->benchmark];
}

static int note_stack(struct benchmark_heaps *heaps, const struct benchmark_window *window, uint64_t hash)
{
	uint64_t key = map64_mix(hash) + window->benchmark * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t *seen;

	if (!hash)
		return 0;
	seen = number_map_at(&heaps->stacks, map64_mix(key));
	if (!seen)
		return -ENOMEM;
	heap_of(heaps, window)->n_stacks += *seen == 0;
	*seen = 1;
	return 0;
}

static int note_allocated(void *context, const struct heap_row *row)
{
	struct benchmark_heaps *heaps = context;
	const struct benchmark_window *window = open_window(heaps, row->time);
	struct benchmark_heap *heap;

	if (!window)
		return 0;
	heap = heap_of(heaps, window);
	heap->n_allocations++;
	heap->bytes_allocated += row->size;
	heaps->n_live++;
	heaps->bytes_live += row->size;
	if (heaps->bytes_live > heap->peak_bytes)
		heap->peak_bytes = heaps->bytes_live;
	return note_stack(heaps, window, row->stack_hash);
}

static void note_ended(
        void *context, const struct heap_block *block, const struct heap_row *row, enum heap_end how)
{
	struct benchmark_heaps *heaps = context;
	const struct benchmark_window *window = open_window(heaps, row->time);
	struct benchmark_heap *heap;

	/* An inherited block counts in the process that allocated it. */
	if (!window || block->time == HEAP_TIME_INHERITED)
		return;
	if (block->time >= window->begin) {
		heaps->n_live--;
		heaps->bytes_live -= block->size;
	} else if (how == HEAP_END_FREE || how == HEAP_END_REALLOC) {
		heap = heap_of(heaps, window);
		heap->n_freed_from_before++;
		heap->bytes_freed_from_before += block->size;
	}
}

int benchmark_heaps_init(
        struct benchmark_heaps *heaps, const struct benchmarks *benchmarks, struct heap_replay *replay)
{
	const struct heap_observer observer = {
	        .context = heaps, .allocated = note_allocated, .ended = note_ended};

	*heaps = (struct benchmark_heaps){.benchmarks = benchmarks, .replay = replay};
	heaps->heaps = calloc(benchmarks->n_benchmarks + 1, sizeof(*heaps->heaps));
	if (!heaps->heaps)
		return -ENOMEM;
	heap_replay_observe(replay, &observer);
	return 0;
}

static void close_window(struct benchmark_heaps *heaps)
{
	struct benchmark_heap *heap = heap_of(heaps, &heaps->benchmarks->windows[heaps->window]);

	heap->n_live_after_stop += heaps->n_live;
	heap->bytes_live_after_stop += heaps->bytes_live;
	heaps->n_live = heaps->bytes_live = 0;
	heaps->window++;
}

int benchmark_heaps_apply(struct benchmark_heaps *heaps, const struct heap_row *row)
{
	const struct benchmark_window *window;
	uint64_t n_before = heap_replay_sums(heaps->replay)->n_unseen_frees;
	int r;

	while ((window = open_window(heaps, row->time)) && window->end <= row->time)
		close_window(heaps);
	r = heap_replay_apply(heaps->replay, row);
	if (r >= 0 && window)
		heap_of(heaps, window)->n_freed_from_before +=
		        heap_replay_sums(heaps->replay)->n_unseen_frees - n_before;
	return r;
}

void benchmark_heaps_finish(struct benchmark_heaps *heaps)
{
	if (heaps->window < heaps->benchmarks->n_windows)
		close_window(heaps);
}

void benchmark_heaps_deinit(struct benchmark_heaps *heaps)
{
	free(heaps->heaps);
	number_map_deinit(&heaps->stacks);
	*heaps = (struct benchmark_heaps){0};
}
