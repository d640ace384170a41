/* test_replay.c: the heap over time: rules one by one, and against profile_check.py. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "heap/replay.h"
#include "support.h"
#include "util/cleanup.h"

static struct heap_replay *replay_of(
        const struct event *events, size_t n, const struct heap_observer *observer)
{
	struct heap_replay *replay;
	struct heap_order *order;
	struct heap_row row;

	cr_assert_eq(heap_order_new(&order), 0);
	cr_assert_eq(heap_replay_new(&replay), 0);
	heap_replay_observe(replay, observer);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(heap_order_measure(order, &events[i]), 0);
	heap_order_begin(order);
	for (size_t i = 0; i <= n; i++) {
		if (i < n)
			cr_assert_eq(heap_order_add(order, &events[i]), 0);
		else
			heap_order_end(order);
		while (heap_order_next(order, &row))
			cr_assert_eq(heap_replay_apply(replay, &row), 0);
	}
	heap_order_free(order);
	return replay;
}

static struct event allocation(uint64_t time, uint32_t pid, uint64_t addr, uint64_t size)
{
	return (struct event){
	        .type = EVENT_MALLOC, .timestamp = time, .pid = pid, .tid = pid, .addr = addr, .size = size};
}

static struct event other(enum event_type type, uint64_t time, uint32_t pid, uint64_t addr)
{
	return (struct event){.type = type, .timestamp = time, .pid = pid, .tid = pid, .addr = addr};
}

static struct event forked(uint64_t time, uint32_t pid, uint32_t parent, bool shares)
{
	struct event event = other(EVENT_FORK, time, pid, 0);

	event.parent_pid = parent;
	event.shares_memory = shares;
	return event;
}

/* Between `entered` and the return of a realloc, another thread may own the old address. */
Test(replay, realloc_ends_its_block_when_entered)
{
	struct event events[] = {
	        allocation(1, 1, 0x10, 100),
	        {.type = EVENT_REALLOC,
	                .timestamp = 9,
	                .pid = 1,
	                .addr = 0x20,
	                .size = 50,
	                .old_addr = 0x10,
	                .entered = 3},
	        allocation(5, 1, 0x10, 7),
	};
	struct heap_replay *replay = replay_of(events, N_ELEMENTS(events), NULL);
	const struct heap_sums *sums = heap_replay_sums(replay);

	cr_assert_eq(sums->n_over_live, 0);
	cr_assert_eq(sums->n_unseen_frees, 0);
	cr_assert_eq(sums->n_allocations, 3);
	cr_assert_eq(sums->n_frees, 1);
	cr_assert_eq(sums->bytes_allocated, 157);
	cr_assert_eq(sums->peak_bytes, 100);
	cr_assert_eq(sums->peak_time, 1);
	cr_assert_eq(sums->live_bytes, 57);
	cr_assert_eq(sums->live_blocks, 2);
	heap_replay_free(replay);
}

/* A child frees what it inherited: known, but it counts nothing. What it allocates counts until it exits. */
Test(replay, fork_copies_and_counts_once)
{
	struct event events[] = {
	        allocation(1, 1, 0x10, 100),
	        forked(2, 2, 1, false),
	        other(EVENT_FREE, 3, 2, 0x10),
	        allocation(4, 2, 0x10, 30),
	        other(EVENT_FREE, 5, 2, 0x20),
	        other(EVENT_EXIT, 6, 2, 0),
	        other(EVENT_FREE, 7, 1, 0x10),
	};
	struct heap_replay *replay = replay_of(events, N_ELEMENTS(events), NULL);
	const struct heap_sums *sums = heap_replay_sums(replay);
	const struct heap_process *processes;

	cr_assert_eq(sums->peak_bytes, 130);
	cr_assert_eq(sums->live_bytes, 0);
	cr_assert_eq(sums->live_blocks, 0);
	cr_assert_eq(sums->n_unseen_frees, 1);
	cr_assert_eq(sums->n_over_live, 0);
	cr_assert_eq(heap_replay_processes(replay, &processes), 2);
	cr_assert_eq(processes[0].pid, 1);
	cr_assert_eq(processes[0].peak_bytes, 100);
	cr_assert_eq(processes[0].n_frees, 1);
	cr_assert_eq(processes[1].pid, 2);
	cr_assert_eq(processes[1].peak_bytes, 30);
	cr_assert_eq(processes[1].peak_time, 4);
	cr_assert_eq(processes[1].n_frees, 2);
	cr_assert_eq(processes[1].live_bytes, 0);
	heap_replay_free(replay);
}

/* After vfork both work on one heap, until the child execs. */
Test(replay, shared_memory_is_shared)
{
	struct event events[] = {
	        allocation(1, 1, 0x10, 100),
	        forked(2, 2, 1, true),
	        other(EVENT_FREE, 3, 2, 0x10),
	        allocation(4, 2, 0x20, 60),
	        other(EVENT_EXEC, 5, 2, 0),
	        allocation(6, 2, 0x20, 1),
	        other(EVENT_FREE, 7, 1, 0x20),
	};
	struct heap_replay *replay = replay_of(events, N_ELEMENTS(events), NULL);
	const struct heap_sums *sums = heap_replay_sums(replay);

	cr_assert_eq(sums->n_unseen_frees, 0);
	cr_assert_eq(sums->n_over_live, 0);
	cr_assert_eq(sums->live_bytes, 1);
	cr_assert_eq(sums->peak_bytes, 100);
	heap_replay_free(replay);
}

struct seen {
	uint64_t n_allocated;
	uint64_t n_ended[HEAP_END_EXIT + 1];
	uint64_t n_inherited;
	uint64_t size_of_ended;
	uint64_t last_hash;
};

static int see_allocated(void *context, const struct heap_row *row)
{
	struct seen *seen = context;

	cr_assert(event_is_allocation(row->kind));
	seen->n_allocated++;
	return 0;
}

static void see_ended(
        void *context, const struct heap_block *block, const struct heap_row *row, enum heap_end how)
{
	struct seen *seen = context;

	seen->n_ended[how]++;
	seen->n_inherited += block->time == HEAP_TIME_INHERITED;
	seen->size_of_ended += block->size;
	seen->last_hash = block->stack_hash;
	cr_assert(block->time == HEAP_TIME_INHERITED || block->time <= row->time);
}

/* An observer sees every block come once and go once, and by what. */
Test(replay, observer)
{
	struct event events[] = {
	        allocation(1, 1, 0x10, 1),
	        allocation(2, 1, 0x20, 2),
	        allocation(3, 1, 0x20, 4),
	        allocation(4, 1, 0x30, 8),
	        other(EVENT_FREE, 5, 1, 0x10),
	        {.type = EVENT_REALLOC,
	                .timestamp = 7,
	                .pid = 1,
	                .addr = 0x10,
	                .size = 16,
	                .old_addr = 0x20,
	                .entered = 6},
	        forked(8, 2, 1, false),
	        other(EVENT_EXEC, 9, 2, 0),
	        allocation(10, 2, 0x40, 32),
	        other(EVENT_EXIT, 11, 2, 0),
	};
	struct seen seen = {0};
	struct heap_observer observer = {.context = &seen, .allocated = see_allocated, .ended = see_ended};
	struct heap_replay *replay;

	events[0].stack_hash = 99;
	replay = replay_of(events, 5, &observer);
	cr_assert_eq(seen.last_hash, 99);
	heap_replay_free(replay);
	memset(&seen, 0, sizeof(seen));
	replay = replay_of(events, N_ELEMENTS(events), &observer);
	cr_assert_eq(seen.n_allocated, 6);
	cr_assert_eq(seen.n_ended[HEAP_END_FREE], 1);
	cr_assert_eq(seen.n_ended[HEAP_END_REPLACED], 1);
	cr_assert_eq(seen.n_ended[HEAP_END_REALLOC], 1);
	cr_assert_eq(seen.n_ended[HEAP_END_EXEC], 2);
	cr_assert_eq(seen.n_ended[HEAP_END_EXIT], 1);
	cr_assert_eq(seen.n_inherited, 2);
	cr_assert_eq(seen.size_of_ended, 1 + 2 + 4 + 32);
	cr_assert_eq(heap_replay_sums(replay)->live_bytes, 8 + 16);
	heap_replay_free(replay);
}

static int refuse(void *context, const struct heap_row *row)
{
	(void)context;
	return row->size == 2 ? -7 : 0;
}

Test(replay, observer_can_stop)
{
	struct heap_observer observer = {.allocated = refuse};
	struct event events[] = {allocation(1, 1, 0x10, 1), allocation(2, 1, 0x20, 2)};
	struct heap_row rows[2];
	struct heap_replay *replay;

	cr_assert_eq(heap_replay_new(&replay), 0);
	heap_replay_observe(replay, &observer);
	cr_assert_eq(heap_rows_of(&events[0], rows), 1);
	cr_assert_eq(heap_replay_apply(replay, rows), 0);
	cr_assert_eq(heap_rows_of(&events[1], rows), 1);
	cr_assert_eq(heap_replay_apply(replay, rows), -7);
	heap_replay_free(replay);
}

static void add_live(void *context, const struct heap_block *block, uint32_t pid)
{
	uint64_t *sum = context;

	cr_assert(pid == 1 || (pid == 2 && block->size == 0));
	*sum += block->size + 1000;
}

Test(replay, each_live)
{
	struct event events[] = {
	        allocation(1, 1, 0x10, 1),
	        allocation(2, 1, 0x20, 2),
	        forked(3, 2, 1, false),
	        other(EVENT_FREE, 4, 1, 0x10),
	};
	struct heap_replay *replay = replay_of(events, N_ELEMENTS(events), NULL);
	uint64_t sum = 0;

	heap_replay_each_live(replay, add_live, &sum);
	cr_assert_eq(sum, 3002);
	heap_replay_free(replay);
}

/* A stream with few processes, threads and addresses, so that everything collides, and out of order. */
static void make_stream(struct random *random, struct event *events, size_t n)
{
	static const enum event_type types[] = {EVENT_MALLOC, EVENT_CALLOC, EVENT_ALIGNED_ALLOC,
	        EVENT_REALLOC, EVENT_REALLOC, EVENT_FREE, EVENT_FREE, EVENT_FREE, EVENT_MALLOC, EVENT_MMAP};
	uint64_t now = random_below(random, 1000), n_pids = 1 + random_below(random, 6);
	uint64_t n_addresses = 1 + random_below(random, 60), disorder = 1 + random_below(random, 40);
	uint64_t per_fork = 3 + random_below(random, 60);

	for (size_t i = 0; i < n; i++) {
		struct event *event = &events[i];

		now += random_below(random, 4);
		*event = (struct event){
		        .type = types[random_below(random, N_ELEMENTS(types))],
		        .pid = 1 + (uint32_t)random_below(random, n_pids),
		        .timestamp = 1000 + now - random_below(random, disorder),
		        .addr = 16 * random_below(random, n_addresses),
		        .size = random_below(random, 5000),
		};
		event->tid = event->pid + (uint32_t)random_below(random, 3);
		if (event->type == EVENT_REALLOC && random_below(random, 3)) {
			event->old_addr = 16 + 16 * random_below(random, n_addresses);
			event->entered = event->timestamp - random_below(random, 2 * disorder);
		}
		if (random_below(random, per_fork) == 0) {
			event->type = EVENT_FORK + random_below(random, 3);
			event->parent_pid = 1 + (uint32_t)random_below(random, n_pids);
			event->shares_memory = random_below(random, 2);
		}
	}
}

static void compare_with_checker(const struct event *events, size_t n)
{
	struct folder folder = folder_new();
	struct heap_replay *replay = replay_of(events, n, NULL);
	const struct heap_sums *sums = heap_replay_sums(replay);
	json_object *said;
	int status;

	folder_write_artifact(&folder, events, n);
	said = profile_check(&folder, "", &status); /* its status is 1: the folder has no modules */
	cr_assert_eq(json_uint(said, "allocations"), sums->n_allocations);
	cr_assert_eq(json_uint(said, "bytes_allocated"), sums->bytes_allocated);
	cr_assert_eq(json_uint(said, "peak_live"), sums->peak_bytes);
	cr_assert_eq(json_uint(said, "live_at_end"), sums->live_bytes);
	cr_assert_eq(json_uint(said, "frees_of_unseen"), sums->n_unseen_frees);
	cr_assert_eq(json_uint(said, "allocations_over_live"), sums->n_over_live);
	json_object_put(said);
	heap_replay_free(replay);
	folder_remove(&folder);
}

/* The independent checker finds the same peak, sums and oddities in random streams with forks, shared memory,
 * execs, exits, reused process numbers, reallocs that last, and times out of order. */
Test(replay, random_streams_against_profile_check)
{
	static struct event events[3000];
	struct random random = {.state = 31337};

	if (!have_profile_check())
		cr_skip_test("no profile_check.py: set PROFILE_CHECK");
	for (int i = 0; i < 40; i++) {
		size_t n = random_below(&random, N_ELEMENTS(events));

		make_stream(&random, events, n);
		compare_with_checker(events, n);
	}
}
