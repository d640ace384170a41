/* replay.c: the heap of a process tree over time. */
#include "heap/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/blocks.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "util/number_map.h"

/* The memory of one process, and whose memory a process uses. Kept from its first row to the end of the
 * replay: numbers of processes come again. */
struct image {
	uint32_t pid;
	uint32_t owner; /* the process whose memory this one uses, where has_owner */
	bool has_owner;
	bool has_heap; /* something was done in this memory since it was new */
	bool is_shown; /* has an element of `processes` */
	size_t process;
	struct blocks blocks;
	uint64_t bytes;    /* sum of all blocks */
	uint64_t n_blocks; /* without inherited ones */
};

struct heap_replay {
	struct heap_sums sums;
	struct heap_observer observer;
	struct image **images; /* in the order of their first rows */
	size_t n_images;
	size_t n_images_allocated;
	struct number_map by_pid; /* 1 + index in images */
	struct image *last;       /* rows come in runs of one process */
	struct heap_process *processes;
	size_t n_processes;
	size_t n_processes_allocated;
};

int heap_replay_new(struct heap_replay **ret_replay)
{
	struct heap_replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return -ENOMEM;
	*ret_replay = replay;
	return 0;
}

void heap_replay_observe(struct heap_replay *replay, const struct heap_observer *observer)
{
	replay->observer = observer ? *observer : (struct heap_observer){0};
}

static int add_image(struct heap_replay *replay, uint32_t pid, struct image **ret_image)
{
	struct image *image;
	int r = GROW_BY_ONE(replay->images, replay->n_images_allocated, replay->n_images);

	if (r < 0)
		return r;
	image = calloc(1, sizeof(*image));
	if (!image)
		return -ENOMEM;
	image->pid = pid;
	replay->images[replay->n_images++] = image;
	*ret_image = image;
	return 0;
}

static int find_image(struct heap_replay *replay, uint32_t pid, struct image **ret_image)
{
	uint64_t *number;
	int r;

	if (replay->last && replay->last->pid == pid) {
		*ret_image = replay->last;
		return 0;
	}
	number = number_map_at(&replay->by_pid, pid);
	if (!number)
		return -ENOMEM;
	if (*number == 0) {
		r = add_image(replay, pid, ret_image);
		if (r < 0)
			return r;
		*number = replay->n_images;
	}
	*ret_image = replay->last = replay->images[*number - 1];
	return 0;
}

/* The memory that the process uses. */
static int find_heap(struct heap_replay *replay, struct image *image, struct image **ret_heap)
{
	if (image->has_owner)
		return find_image(replay, image->owner, ret_heap);
	*ret_heap = image;
	return 0;
}

static int show(struct heap_replay *replay, struct image *image)
{
	int r;

	if (image->is_shown)
		return 0;
	r = GROW_BY_ONE(replay->processes, replay->n_processes_allocated, replay->n_processes);
	if (r < 0)
		return r;
	image->process = replay->n_processes;
	image->is_shown = true;
	replay->processes[replay->n_processes++] = (struct heap_process){.pid = image->pid};
	return 0;
}

static void notify_ended(struct heap_replay *replay, const struct heap_block *block,
        const struct heap_row *row, enum heap_end how)
{
	if (replay->observer.ended)
		replay->observer.ended(replay->observer.context, block, row, how);
}

/* Takes a block that ended out of the sums. */
static void subtract(struct heap_replay *replay, struct image *heap, const struct heap_block *block)
{
	heap->bytes -= block->size;
	replay->processes[heap->process].live_bytes -= block->size;
	replay->sums.live_bytes -= block->size;
	if (block->time != HEAP_TIME_INHERITED) {
		heap->n_blocks--;
		replay->sums.live_blocks--;
	}
}

static int end_block(
        struct heap_replay *replay, struct image *image, struct image *heap, const struct heap_row *row)
{
	struct heap_block block;
	bool had;
	int r = blocks_take(&heap->blocks, row->addr, &had, &block);

	if (r < 0)
		return r;
	replay->sums.n_frees++;
	replay->processes[image->process].n_frees++;
	if (!had) {
		replay->sums.n_unseen_frees++;
		return 0;
	}
	notify_ended(replay, &block, row, row->kind == EVENT_FREE ? HEAP_END_FREE : HEAP_END_REALLOC);
	subtract(replay, heap, &block);
	return 0;
}

static void add(
        struct heap_replay *replay, struct image *image, struct image *heap, const struct heap_row *row)
{
	struct heap_sums *sums = &replay->sums;
	struct heap_process *process = &replay->processes[heap->process];

	heap->bytes += row->size;
	heap->n_blocks++;
	sums->live_blocks++;
	sums->n_allocations++;
	sums->bytes_allocated += row->size;
	replay->processes[image->process].n_allocations++;
	replay->processes[image->process].bytes_allocated += row->size;
	sums->live_bytes += row->size;
	if (sums->live_bytes > sums->peak_bytes) {
		sums->peak_bytes = sums->live_bytes;
		sums->peak_time = row->time;
		sums->n_peaks++;
	}
	process->live_bytes += row->size;
	if (process->live_bytes > process->peak_bytes) {
		process->peak_bytes = process->live_bytes;
		process->peak_time = row->time;
	}
}

static int allocate(
        struct heap_replay *replay, struct image *image, struct image *heap, const struct heap_row *row)
{
	struct heap_block block = {
	        .addr = row->addr,
	        .size = row->size,
	        .stack_hash = row->stack_hash,
	        .time = row->time < TABLE_TIME_MAX ? row->time : TABLE_TIME_MAX,
	};
	struct heap_block old;
	bool had;
	int r = blocks_put(&heap->blocks, &block, &had, &old);

	if (r < 0)
		return r;
	if (had) {
		replay->sums.n_over_live++;
		notify_ended(replay, &old, row, HEAP_END_REPLACED);
		subtract(replay, heap, &old);
	}
	if (replay->observer.allocated)
		r = replay->observer.allocated(replay->observer.context, row);
	if (r >= 0)
		add(replay, image, heap, row);
	return r < 0 ? r : 0;
}

static int apply_fork(struct heap_replay *replay, struct image *child, const struct heap_row *row)
{
	struct image *parent, *heap;
	struct blocks blocks;
	int r = find_image(replay, row->parent_pid, &parent);

	if (r >= 0)
		r = find_heap(replay, parent, &heap);
	if (r < 0)
		return r;
	if (row->shares_memory) {
		child->has_owner = true;
		child->owner = heap->pid;
		return 0;
	}
	if (!heap->has_heap)
		return 0;
	r = blocks_fork(&heap->blocks, &blocks);
	if (r < 0)
		return r;
	replay->sums.live_blocks -= child->n_blocks;
	child->n_blocks = 0;
	blocks_deinit(&child->blocks);
	child->blocks = blocks;
	child->has_heap = true;
	return 0;
}

struct ending {
	struct heap_replay *replay;
	const struct heap_row *row;
};

static void end_with_image(void *context, const struct heap_block *block)
{
	struct ending *ending = context;

	notify_ended(ending->replay, block, ending->row,
	        ending->row->kind == EVENT_EXEC ? HEAP_END_EXEC : HEAP_END_EXIT);
}

/* The image is gone; memory that it shared is not. */
static void drop_image(struct heap_replay *replay, struct image *image, const struct heap_row *row)
{
	struct ending ending = {.replay = replay, .row = row};

	if (image->has_owner) {
		image->has_owner = false;
		return;
	}
	if (replay->observer.ended)
		blocks_each(&image->blocks, end_with_image, &ending);
	blocks_deinit(&image->blocks);
	replay->sums.live_bytes -= image->bytes;
	replay->sums.live_blocks -= image->n_blocks;
	if (image->is_shown)
		replay->processes[image->process].live_bytes = 0;
	image->bytes = 0;
	image->n_blocks = 0;
	image->has_heap = false;
}

int heap_replay_apply(struct heap_replay *replay, const struct heap_row *row)
{
	struct image *image, *heap;
	int r = find_image(replay, row->pid, &image);

	if (r >= 0)
		r = find_heap(replay, image, &heap);
	if (r < 0)
		return r;
	heap->has_heap = true;
	if (row->kind == EVENT_FORK)
		return apply_fork(replay, image, row);
	if (row->kind == EVENT_EXEC || row->kind == EVENT_EXIT) {
		drop_image(replay, image, row);
		return 0;
	}
	if (row->kind > EVENT_FREE && row->kind != HEAP_ROW_END)
		return 0;
	r = show(replay, image);
	if (r >= 0)
		r = show(replay, heap);
	if (r < 0)
		return r;
	if (event_is_allocation(row->kind))
		return allocate(replay, image, heap, row);
	return end_block(replay, image, heap, row);
}

const struct heap_sums *heap_replay_sums(const struct heap_replay *replay)
{
	return &replay->sums;
}

size_t heap_replay_processes(const struct heap_replay *replay, const struct heap_process **ret_processes)
{
	*ret_processes = replay->processes;
	return replay->n_processes;
}

struct visiting {
	void (*visit)(void *context, const struct heap_block *block, uint32_t pid);
	void *context;
	uint32_t pid;
};

static void visit_live(void *context, const struct heap_block *block)
{
	struct visiting *visiting = context;

	visiting->visit(visiting->context, block, visiting->pid);
}

void heap_replay_each_live(const struct heap_replay *replay,
        void (*visit)(void *context, const struct heap_block *block, uint32_t pid), void *context)
{
	struct visiting visiting = {.visit = visit, .context = context};

	for (size_t i = 0; i < replay->n_images; i++) {
		visiting.pid = replay->images[i]->pid;
		blocks_each(&replay->images[i]->blocks, visit_live, &visiting);
	}
}

struct heap_replay *heap_replay_free(struct heap_replay *replay)
{
	if (!replay)
		return NULL;
	for (size_t i = 0; i < replay->n_images; i++) {
		blocks_deinit(&replay->images[i]->blocks);
		free(replay->images[i]);
	}
	free(replay->images);
	number_map_deinit(&replay->by_pid);
	free(replay->processes);
	free(replay);
	return NULL;
}
