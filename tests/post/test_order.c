/* test_order.c: rows come out by (time, place in the stream), whatever the stream's disorder. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "heap/order.h"
#include "heap/queue.h"
#include "support.h"

#define N_EVENTS 200000

static struct event events[N_EVENTS];
static struct heap_row expected[2 * N_EVENTS];

static int compare_rows(const void *a, const void *b)
{
	return row_is_before(a, b) ? -1 : row_is_before(b, a);
}

static void check_rows(struct heap_order *order, size_t *at, size_t n)
{
	struct heap_row row;

	while (heap_order_next(order, &row)) {
		cr_assert_lt(*at, n);
		cr_assert_eq(row.time, expected[*at].time, "row %zu", *at);
		cr_assert_eq(row.order, expected[*at].order, "row %zu", *at);
		cr_assert_eq(row.kind, expected[*at].kind);
		cr_assert_eq(row.addr, expected[*at].addr);
		++*at;
	}
}

/* Runs both passes over events[0..n), compares with a sort. Returns the most rows that were held back. */
static uint64_t check_order(size_t n)
{
	struct heap_order *order;
	size_t n_rows = 0, at = 0;
	uint64_t n_held;

	cr_assert_eq(heap_order_new(&order), 0);
	for (size_t i = 0; i < n; i++) {
		unsigned n_new = heap_rows_of(&events[i], &expected[n_rows]);

		for (unsigned j = 0; j < n_new; j++, n_rows++)
			expected[n_rows].order = n_rows;
		cr_assert_eq(heap_order_measure(order, &events[i]), 0);
	}
	qsort(expected, n_rows, sizeof(expected[0]), compare_rows);
	heap_order_begin(order);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(heap_order_add(order, &events[i]), 0);
		check_rows(order, &at, n_rows);
	}
	heap_order_end(order);
	check_rows(order, &at, n_rows);
	cr_assert_eq(at, n_rows, "%zu of %zu rows", at, n_rows);
	cr_assert_eq(heap_order_n_forced(order), 0);
	n_held = heap_order_n_held_max(order);
	heap_order_free(order);
	return n_held;
}

static void make_events(struct random *random, size_t n, uint64_t disorder)
{
	uint64_t now = 1000000;

	for (size_t i = 0; i < n; i++) {
		now += random_below(random, 3); /* equal times are common */
		events[i] = (struct event){
		        .type = random_below(random, EVENT_N_TYPES),
		        .addr = random_next(random),
		        .timestamp = now - random_below(random, disorder + 1),
		};
		if (events[i].type == EVENT_REALLOC && random_below(random, 2)) {
			events[i].old_addr = random_next(random);
			events[i].entered = events[i].timestamp - random_below(random, disorder + 1);
		}
	}
}

Test(order, sorted_stream_is_passed_on_at_once)
{
	struct random random = {.state = 5};

	make_events(&random, 20000, 0);
	cr_assert_leq(check_order(20000), 2);
}

Test(order, any_disorder)
{
	struct random random = {.state = 6};

	for (uint64_t disorder = 1; disorder < 100000; disorder *= 7) {
		make_events(&random, 20000, disorder);
		check_order(20000);
	}
}

Test(order, no_order_at_all)
{
	struct random random = {.state = 7};

	for (size_t i = 0; i < 50000; i++) {
		events[i] = random_event(&random);
		events[i].mapping.len = 0;
	}
	check_order(50000);
}

Test(order, empty_stream)
{
	cr_assert_eq(check_order(0), 0);
}

/* A few calls that took as long as the whole run do not make the rest of it wait. */
Test(order, stragglers_do_not_widen_the_window)
{
	struct random random = {.state = 8};

	make_events(&random, N_EVENTS, 100);
	for (size_t i = N_EVENTS / 2; i < N_EVENTS; i += 1000) {
		events[i].type = EVENT_REALLOC;
		events[i].old_addr = 1;
		events[i].entered = 1000 + i % 7;
	}
	cr_assert_leq(check_order(N_EVENTS), 1000);
}

/* More late rows than are kept by themselves: the window grows, and no more than needed. */
Test(order, window_grows)
{
	struct random random = {.state = 9};

	make_events(&random, N_EVENTS, 30000);
	cr_assert_leq(check_order(N_EVENTS), 60000);
}

/* Once the window has grown, it still follows the latest rows to the nanosecond. */
Test(order, window_is_exact)
{
	for (size_t i = 0; i < 160000; i++)
		events[i] =
		        (struct event){.type = EVENT_FREE, .timestamp = 100000 + i / 2 - (i % 2 ? 1500 : 0)};
	for (size_t i = 160000; i < 170000; i++)
		events[i] = (struct event){
		        .type = EVENT_FREE, .timestamp = 100000 + i / 2 - (i % 2 ? 1500 + i % 5 : 0)};
	check_order(170000);
}
