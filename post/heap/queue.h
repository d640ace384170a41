/* queue.h: rows that are held back: the first one by (time, order) comes out first. */
#ifndef POST_HEAP_QUEUE_H
#define POST_HEAP_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/order.h"

/* What the heap sorts: the row itself stays in its slot. */
struct row_key {
	uint64_t time;
	uint64_t order;
	size_t slot;
};

/* All zero: empty. */
struct row_queue {
	struct row_key *keys; /* a binary heap, smallest first */
	size_t n;
	size_t n_keys_allocated;
	struct heap_row *slots;
	size_t n_slots; /* used at some time */
	size_t n_slots_allocated;
	size_t *vacant; /* slots that are free again */
	size_t n_vacant;
	size_t n_vacant_allocated;
};

static inline bool row_is_before(const struct heap_row *a, const struct heap_row *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

/* 0 or -ENOMEM. */
int row_queue_add(struct row_queue *queue, const struct heap_row *row);

/* NULL: empty. */
static inline const struct heap_row *row_queue_first(const struct row_queue *queue)
{
	return queue->n > 0 ? &queue->slots[queue->keys[0].slot] : NULL;
}

/* Takes the first row out; there must be one. */
void row_queue_take(struct row_queue *queue, struct heap_row *ret_row);

void row_queue_deinit(struct row_queue *queue);

#endif
