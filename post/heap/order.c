/* order.c: rows of a stream in replay order. */
#include "heap/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/queue.h"
#include "util/cleanup.h"
#include "util/grow.h"

/* Rows kept by themselves, at most; beyond that the window grows. */
#define STRAGGLERS_MAX (1u << 16)
#define WINDOW_FIRST   1024 /* ns */
/* Rows held back, at most: about 320 MB. Only a stream with absurd times gets there. */
#define HELD_MAX (4u << 20)

struct straggler {
	struct heap_row row;
	uint64_t late;
};

struct heap_order {
	uint64_t n_rows; /* of this pass so far */
	uint64_t latest; /* largest time of this pass so far */
	uint64_t limit;  /* rows later than this are stragglers */
	uint64_t window; /* the largest lateness of those that are not */
	struct straggler *stragglers;
	size_t n_stragglers;
	size_t n_stragglers_allocated;
	size_t at_straggler;        /* the next one to give */
	uint64_t n_stragglers_seen; /* by the second pass */
	struct row_queue held;
	uint64_t n_held_max;
	uint64_t n_forced;
	bool ended;
};

unsigned heap_rows_of(const struct event *event, struct heap_row ret_rows[2])
{
	unsigned n = 0;
	struct heap_row row = {
	        .time = event->timestamp,
	        .addr = event->addr,
	        .size = event->type == EVENT_MAPPING ? event->mapping.len : event->size,
	        .stack_hash = event->stack_hash,
	        .pid = event->pid,
	        .tid = event->tid,
	        .parent_pid = event->parent_pid,
	        .kind = (uint8_t)event->type,
	        .shares_memory = event->shares_memory,
	};

	if (event->type == EVENT_STACK_DEFINITION)
		return 0;
	if (event->type == EVENT_REALLOC && event->old_addr)
		ret_rows[n++] = (struct heap_row){
		        .time = event->entered,
		        .addr = event->old_addr,
		        .pid = event->pid,
		        .tid = event->tid,
		        .kind = HEAP_ROW_END,
		};
	ret_rows[n++] = row;
	return n;
}

int heap_order_new(struct heap_order **ret_order)
{
	struct heap_order *order = calloc(1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	*ret_order = order;
	return 0;
}

/* Numbers the row, and says by how much it is late. */
static uint64_t enter_row(struct heap_order *order, struct heap_row *row)
{
	row->order = order->n_rows++;
	if (row->time >= order->latest) {
		order->latest = row->time;
		return 0;
	}
	return order->latest - row->time;
}

/* Widens the window until it leaves few stragglers. */
static void widen(struct heap_order *order)
{
	while (order->n_stragglers > STRAGGLERS_MAX / 2) {
		size_t n = 0;

		if (order->limit > UINT64_MAX / 2)
			order->limit = UINT64_MAX;
		else
			order->limit = order->limit ? order->limit * 2 : WINDOW_FIRST;
		for (size_t i = 0; i < order->n_stragglers; i++) {
			const struct straggler *straggler = &order->stragglers[i];

			if (straggler->late > order->limit)
				order->stragglers[n++] = *straggler;
			else if (straggler->late > order->window)
				order->window = straggler->late;
		}
		order->n_stragglers = n;
	}
}

static int measure_row(struct heap_order *order, struct heap_row *row)
{
	uint64_t late = enter_row(order, row);
	int r;

	if (late <= order->limit) {
		if (late > order->window)
			order->window = late;
		return 0;
	}
	r = GROW_BY_ONE(order->stragglers, order->n_stragglers_allocated, order->n_stragglers);
	if (r < 0)
		return r;
	order->stragglers[order->n_stragglers++] = (struct straggler){.row = *row, .late = late};
	if (order->n_stragglers >= STRAGGLERS_MAX)
		widen(order);
	return 0;
}

int heap_order_measure(struct heap_order *order, const struct event *event)
{
	struct heap_row rows[2];
	unsigned n = heap_rows_of(event, rows);

	for (unsigned i = 0; i < n; i++) {
		int r = measure_row(order, &rows[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_stragglers(const void *a, const void *b)
{
	const struct straggler *x = a, *y = b;

	return row_is_before(&x->row, &y->row) ? -1 : row_is_before(&y->row, &x->row);
}

void heap_order_begin(struct heap_order *order)
{
	order->n_rows = 0;
	order->latest = 0;
	if (order->n_stragglers > 0)
		qsort(order->stragglers, order->n_stragglers, sizeof(order->stragglers[0]),
		        compare_stragglers);
}

int heap_order_add(struct heap_order *order, const struct event *event)
{
	struct heap_row rows[2];
	unsigned n = heap_rows_of(event, rows);

	for (unsigned i = 0; i < n; i++) {
		int r;

		if (enter_row(order, &rows[i]) > order->window) {
			order->n_stragglers_seen++;
			continue; /* kept by the first pass */
		}
		r = row_queue_add(&order->held, &rows[i]);
		if (r < 0)
			return r;
	}
	if (order->held.n > order->n_held_max)
		order->n_held_max = order->held.n;
	return 0;
}

void heap_order_end(struct heap_order *order)
{
	uint64_t n = order->n_stragglers;

	order->ended = true;
	if (order->n_stragglers_seen != n) /* not the stream that was measured */
		order->n_forced += order->n_stragglers_seen > n ? order->n_stragglers_seen - n
		                                                : n - order->n_stragglers_seen;
}

/* Whether no row that comes later can go before `row`. Such a row's time is at least latest - window, and it
 * has a larger number than all rows so far. */
static bool is_settled(const struct heap_order *order, const struct heap_row *row)
{
	if (order->ended)
		return true;
	if (order->latest < order->window)
		return false;
	if (row->order >= order->n_rows) /* a straggler that the second pass has not met */
		return row->time < order->latest - order->window;
	return row->time <= order->latest - order->window;
}

bool heap_order_next(struct heap_order *order, struct heap_row *ret_row)
{
	const struct heap_row *held = row_queue_first(&order->held);
	const struct heap_row *straggler = NULL;

	if (order->at_straggler < order->n_stragglers)
		straggler = &order->stragglers[order->at_straggler].row;
	if (straggler && (!held || row_is_before(straggler, held))) {
		if (!is_settled(order, straggler))
			return false;
		*ret_row = *straggler;
		order->at_straggler++;
		return true;
	}
	if (!held)
		return false;
	if (!is_settled(order, held)) {
		if (order->held.n <= HELD_MAX)
			return false;
		order->n_forced++;
	}
	row_queue_take(&order->held, ret_row);
	return true;
}

uint64_t heap_order_n_held_max(const struct heap_order *order)
{
	return order->n_held_max;
}

uint64_t heap_order_n_forced(const struct heap_order *order)
{
	return order->n_forced;
}

struct heap_order *heap_order_free(struct heap_order *order)
{
	if (!order)
		return NULL;
	free(order->stragglers);
	row_queue_deinit(&order->held);
	free(order);
	return NULL;
}
