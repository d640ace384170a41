/* test_paths.c: tallies by stack: rules one by one, and random heaps against a plain model. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "heap/paths.h"
#include "util/cleanup.h"

static struct heap_row row_of(
        uint8_t kind, uint64_t time, uint32_t pid, uint32_t tid, uint64_t addr, uint64_t size)
{
	return (struct heap_row){
	        .kind = kind, .time = time, .pid = pid, .tid = tid, .addr = addr, .size = size};
}

static void apply(struct heap_paths *paths, struct heap_row row, uint32_t stack)
{
	cr_assert_eq(heap_paths_apply(paths, &row, stack), 0);
}

static void allocate(struct heap_paths *paths, uint64_t time, uint64_t addr, uint64_t size, uint32_t stack)
{
	apply(paths, row_of(EVENT_MALLOC, time, 1, 1, addr, size), stack);
}

static void release(struct heap_paths *paths, uint64_t time, uint64_t addr)
{
	apply(paths, row_of(EVENT_FREE, time, 1, 1, addr, 0), HEAP_NO_STACK);
}

static struct heap_paths *new_paths(size_t n_stacks)
{
	struct heap_paths *paths;

	cr_assert_eq(heap_paths_new(n_stacks, 0, 1000000, &paths), 0);
	return paths;
}

/* The sum over all processes. */
static struct heap_tally tally_of(const struct heap_paths *paths, uint32_t stack)
{
	struct heap_tally sum = {0};

	for (size_t i = 0; i < heap_paths_n_sites(paths); i++)
		if (heap_paths_site(paths, i)->stack == stack)
			heap_tally_add(&sum, &heap_paths_site(paths, i)->tally);
	return sum;
}

/* The first moment of the largest sum counts, and the sites are as they were then. */
Test(paths, peak_is_exact)
{
	struct heap_paths *paths = new_paths(2);

	allocate(paths, 1, 0x10, 100, 0);
	allocate(paths, 2, 0x20, 50, 1); /* 150: the peak */
	release(paths, 3, 0x10);
	allocate(paths, 4, 0x10, 90, 1);
	allocate(paths, 5, 0x30, 10, 1); /* 150 again, by other stacks: not a new peak */
	heap_paths_finish(paths, 9);
	cr_assert_eq(heap_paths_totals(paths)->peak_bytes, 150);
	cr_assert_eq(heap_paths_totals(paths)->peak_time, 2);
	cr_assert_eq(heap_paths_totals(paths)->n_peak, 2);
	cr_assert_eq(tally_of(paths, 0).peak_bytes, 100);
	cr_assert_eq(tally_of(paths, 1).peak_bytes, 50);
	cr_assert_eq(tally_of(paths, 1).n_peak, 1);
	cr_assert_eq(heap_paths_stack_peak(paths, 1)->bytes, 150);
	cr_assert_eq(heap_paths_stack_peak(paths, 1)->n_blocks, 3);
	heap_paths_free(paths);
}

Test(paths, temporary_is_freed_before_the_threads_next_allocation)
{
	struct heap_paths *paths = new_paths(4);

	allocate(paths, 1, 0x10, 8, 0);
	release(paths, 2, 0x10); /* temporary */
	allocate(paths, 3, 0x10, 8, 1);
	allocate(paths, 4, 0x20, 8, 2);
	release(paths, 5, 0x10); /* no: another allocation came between */
	apply(paths, row_of(EVENT_MALLOC, 6, 1, 7, 0x30, 8), 3);
	release(paths, 7, 0x20); /* temporary: the allocation between was another thread's */
	release(paths, 8, 0x30); /* no: freed by another thread */
	allocate(paths, 9, 0x40, 8, 1);
	apply(paths, row_of(EVENT_MALLOC, 10, 1, 1, 0x50, 8), HEAP_NO_STACK);
	release(paths, 11, 0x40); /* no: an allocation that is not counted is one all the same */
	heap_paths_finish(paths, 12);
	cr_assert_eq(tally_of(paths, 0).n_temporary, 1);
	cr_assert_eq(tally_of(paths, 0).temporary_bytes, 8);
	cr_assert_eq(tally_of(paths, 1).n_temporary, 0);
	cr_assert_eq(tally_of(paths, 2).n_temporary, 1);
	cr_assert_eq(tally_of(paths, 3).n_temporary, 0);
	heap_paths_free(paths);
}

/* Each stack's block lives for one nanosecond less than, and just as long as, a limit. */
Test(paths, lifetimes)
{
	struct heap_paths *paths = new_paths(HEAP_N_LIFETIMES);
	uint64_t time = 1, limit = 1000;

	for (uint32_t i = 0; i + 1 < HEAP_N_LIFETIMES; i++, limit *= 10) {
		allocate(paths, time, 0x10, 1, i);
		release(paths, time + limit - 1, 0x10);
		allocate(paths, time + limit, 0x10, 1, i + 1);
		release(paths, time + limit + limit, 0x10);
		time += 3 * limit;
	}
	allocate(paths, time, 0x10, 1, 0);
	heap_paths_finish(paths, time + 5);
	cr_assert_eq(tally_of(paths, 0).lifetimes[0], 1);
	cr_assert_eq(tally_of(paths, 0).lifetime, 999 + 5);
	cr_assert_eq(tally_of(paths, 0).n_leaked, 1);
	for (uint32_t i = 1; i + 1 < HEAP_N_LIFETIMES; i++)
		cr_assert_eq(tally_of(paths, i).lifetimes[i], 2, "%u", i);
	cr_assert_eq(tally_of(paths, HEAP_N_LIFETIMES - 1).lifetimes[HEAP_N_LIFETIMES - 1], 1);
	heap_paths_free(paths);
}

/* Never freed is never freed, whether the recording, the process or its image ended; inherited blocks count
 * where they were allocated. */
Test(paths, leaks_and_processes)
{
	struct heap_paths *paths = new_paths(3);
	struct heap_row forked = row_of(EVENT_FORK, 2, 2, 2, 0, 0);

	allocate(paths, 1, 0x10, 10, 0);
	forked.parent_pid = 1;
	apply(paths, forked, HEAP_NO_STACK);
	apply(paths, row_of(EVENT_FREE, 3, 2, 2, 0x10, 0), HEAP_NO_STACK); /* the copy: nothing changes */
	apply(paths, row_of(EVENT_MALLOC, 4, 2, 2, 0x20, 20), 1);
	apply(paths, row_of(EVENT_EXEC, 5, 2, 2, 0, 0), HEAP_NO_STACK);
	apply(paths, row_of(EVENT_MALLOC, 6, 2, 2, 0x20, 30), 2);
	apply(paths, row_of(EVENT_EXIT, 7, 2, 2, 0, 0), HEAP_NO_STACK);
	forked.time = 8;
	apply(paths, forked, HEAP_NO_STACK); /* another process of the same number */
	apply(paths, row_of(EVENT_MALLOC, 9, 2, 2, 0x20, 5), 2);
	heap_paths_finish(paths, 10);
	cr_assert_eq(tally_of(paths, 0).live_bytes, 10);
	cr_assert_eq(tally_of(paths, 0).leaked_bytes, 10);
	cr_assert_eq(tally_of(paths, 1).live_bytes, 0);
	cr_assert_eq(tally_of(paths, 1).leaked_bytes, 20);
	cr_assert_eq(tally_of(paths, 2).n_leaked, 2);
	cr_assert_eq(tally_of(paths, 2).live_bytes, 5);
	cr_assert_eq(heap_paths_n_processes(paths), 3);
	cr_assert_eq(heap_paths_process(paths, 1)->peak_bytes, 30);
	cr_assert_eq(heap_paths_process(paths, 2)->pid, 2);
	cr_assert_eq(heap_paths_process(paths, 2)->peak_bytes, 5);
	cr_assert_eq(tally_of(paths, 2).own_peak_bytes, 35);
	heap_paths_free(paths);
}

/* What a vfork child allocates belongs to the memory it shares. */
Test(paths, shared_memory)
{
	struct heap_paths *paths = new_paths(1);
	struct heap_row forked = row_of(EVENT_FORK, 2, 2, 2, 0, 0);

	allocate(paths, 1, 0x10, 10, 0);
	forked.parent_pid = 1;
	forked.shares_memory = true;
	apply(paths, forked, HEAP_NO_STACK);
	apply(paths, row_of(EVENT_MALLOC, 3, 2, 2, 0x20, 20), 0);
	apply(paths, row_of(EVENT_EXEC, 4, 2, 2, 0, 0), HEAP_NO_STACK);
	apply(paths, row_of(EVENT_MALLOC, 5, 2, 2, 0x20, 1), 0);
	release(paths, 6, 0x20);
	heap_paths_finish(paths, 7);
	cr_assert_eq(heap_paths_n_processes(paths), 2);
	cr_assert_eq(heap_paths_process(paths, 0)->peak_bytes, 30);
	cr_assert_eq(heap_paths_process(paths, 0)->live_bytes, 10);
	cr_assert_eq(heap_paths_process(paths, 1)->live_bytes, 1);
	heap_paths_free(paths);
}

Test(paths, unknown_stack_is_refused)
{
	struct heap_paths *paths = new_paths(1);
	struct heap_row row = row_of(EVENT_MALLOC, 1, 1, 1, 0x10, 1);

	cr_assert_eq(heap_paths_apply(paths, &row, 1), -EINVAL);
	heap_paths_free(paths);
}

/* ---- against a model that copies everything at every peak ---- */

#define N_STACKS    6
#define N_PIDS      3
#define N_ADDRESSES 40
#define N_STEPS     3000

struct model_block {
	bool live;
	uint64_t size;
	uint32_t stack; /* HEAP_NO_STACK: inherited, or not counted */
};

struct model {
	struct model_block blocks[N_PIDS][N_ADDRESSES];
	uint64_t live[N_PIDS][N_STACKS], at_peak[N_PIDS][N_STACKS], at_own_peak[N_PIDS][N_STACKS];
	uint64_t leaked[N_PIDS][N_STACKS];
	uint64_t peak, own_peak[N_PIDS];
};

static uint64_t sum_of(uint64_t values[N_PIDS][N_STACKS], size_t from, size_t to)
{
	uint64_t sum = 0;

	for (size_t pid = from; pid < to; pid++)
		for (size_t stack = 0; stack < N_STACKS; stack++)
			sum += values[pid][stack];
	return sum;
}

static void model_end(struct model *model, size_t pid, size_t addr, bool leaks)
{
	struct model_block *block = &model->blocks[pid][addr];

	if (block->live && block->stack != HEAP_NO_STACK) {
		model->live[pid][block->stack] -= block->size;
		model->leaked[pid][block->stack] += leaks ? block->size : 0;
	}
	block->live = false;
}

static void model_allocate(struct model *model, size_t pid, size_t addr, uint64_t size, uint32_t stack)
{
	model_end(model, pid, addr, false);
	model->blocks[pid][addr] = (struct model_block){.live = true, .size = size, .stack = stack};
	if (stack == HEAP_NO_STACK)
		return;
	model->live[pid][stack] += size;
	if (sum_of(model->live, 0, N_PIDS) > model->peak) {
		model->peak = sum_of(model->live, 0, N_PIDS);
		memcpy(model->at_peak, model->live, sizeof(model->live));
	}
	if (sum_of(model->live, pid, pid + 1) > model->own_peak[pid]) {
		model->own_peak[pid] = sum_of(model->live, pid, pid + 1);
		memcpy(model->at_own_peak[pid], model->live[pid], sizeof(model->live[pid]));
	}
}

static uint32_t below(struct drand48_data *random, uint32_t n)
{
	long value;

	lrand48_r(random, &value);
	return (uint32_t)value % n;
}

/* Exec, and with luck a fork after which the emptied process is a copy of another one. */
static void random_exec(
        struct model *model, struct heap_paths *paths, uint64_t time, uint32_t pid, uint32_t other)
{
	struct heap_row forked = row_of(EVENT_FORK, time, pid + 1, 1, 0, 0);

	for (size_t i = 0; i < N_ADDRESSES; i++)
		model_end(model, pid, i, true);
	apply(paths, row_of(EVENT_EXEC, time, pid + 1, 1, 0, 0), HEAP_NO_STACK);
	if (other == pid)
		return;
	forked.parent_pid = other + 1;
	apply(paths, forked, HEAP_NO_STACK);
	for (size_t i = 0; i < N_ADDRESSES; i++) {
		model->blocks[pid][i] = model->blocks[other][i];
		model->blocks[pid][i].stack = HEAP_NO_STACK;
	}
}

static void random_step(
        struct model *model, struct heap_paths *paths, uint64_t time, struct drand48_data *random)
{
	uint32_t dice = below(random, 1000), pid = below(random, N_PIDS), addr = below(random, N_ADDRESSES);
	uint32_t stack = below(random, N_STACKS + 1);
	uint64_t size = below(random, 50) + (time % 97 == 0) * 400;
	uint8_t ending = dice % 2 ? EVENT_FREE : HEAP_ROW_END;

	if (stack == N_STACKS)
		stack = HEAP_NO_STACK;
	if (dice < 550) {
		model_allocate(model, pid, addr, size, stack);
		apply(paths, row_of(EVENT_MALLOC, time, pid + 1, 1, addr + 1, size), stack);
	} else if (dice < 985) {
		model_end(model, pid, addr, false);
		apply(paths, row_of(ending, time, pid + 1, 1, addr + 1, 0), HEAP_NO_STACK);
	} else {
		random_exec(model, paths, time, pid, below(random, N_PIDS));
	}
}

static void compare(struct model *model, const struct heap_paths *paths)
{
	const struct heap_site *site;
	uint64_t peak = 0;
	size_t pid;

	for (size_t i = 0; i < heap_paths_n_sites(paths); i++) {
		site = heap_paths_site(paths, i);
		pid = heap_paths_process(paths, site->process)->pid - 1;
		peak += site->tally.peak_bytes;
		cr_assert_eq(site->tally.live_bytes, model->live[pid][site->stack]);
		cr_assert_eq(site->tally.peak_bytes, model->at_peak[pid][site->stack]);
		cr_assert_eq(site->tally.own_peak_bytes, model->at_own_peak[pid][site->stack]);
		cr_assert_eq(site->tally.leaked_bytes,
		        model->leaked[pid][site->stack] + model->live[pid][site->stack]);
	}
	cr_assert_eq(peak, model->peak);
	cr_assert_eq(heap_paths_totals(paths)->peak_bytes, model->peak);
	cr_assert_eq(heap_paths_totals(paths)->live_bytes, sum_of(model->live, 0, N_PIDS));
}

Test(paths, random_heaps)
{
	for (long seed = 1; seed <= 60; seed++) {
		struct heap_paths *paths = new_paths(N_STACKS);
		struct drand48_data random;
		struct model model = {0};

		srand48_r(seed, &random);
		for (uint64_t time = 1; time <= N_STEPS; time++)
			random_step(&model, paths, time, &random);
		heap_paths_finish(paths, N_STEPS);
		compare(&model, paths);
		heap_paths_free(paths);
	}
}

Test(timeline, slices)
{
	static struct heap_timeline timeline;

	heap_timeline_init(&timeline, 1000, 1000 + 10 * HEAP_N_SLICES - 1);
	cr_assert_eq(timeline.width, 10);
	heap_timeline_note(&timeline, 999, 5); /* before the begin: counts there */
	heap_timeline_note(&timeline, 1005, 20);
	heap_timeline_note(&timeline, 1009, 7);
	heap_timeline_note(&timeline, 1031, 3);
	heap_timeline_note(&timeline, UINT64_MAX, 9); /* after the end: counts there */
	heap_timeline_finish(&timeline);
	cr_assert_eq(timeline.slices[0].highest, 20);
	cr_assert_eq(timeline.slices[0].last, 7);
	cr_assert_eq(timeline.slices[1].highest, 7);
	cr_assert_eq(timeline.slices[3].highest, 7); /* until 1031 */
	cr_assert_eq(timeline.slices[3].last, 3);
	cr_assert_eq(timeline.slices[HEAP_N_SLICES - 2].highest, 3);
	cr_assert_eq(timeline.slices[HEAP_N_SLICES - 1].highest, 9);
	cr_assert_eq(timeline.slices[HEAP_N_SLICES - 1].last, 9);
}
