/* queue.c: rows that are held back. */
#include "heap/queue.h"

#include <stdlib.h>

#include "util/grow.h"

static bool key_is_before(const struct row_key *a, const struct row_key *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static int find_slot(struct row_queue *queue, size_t *ret_slot)
{
	int r;

	if (queue->n_vacant > 0) {
		*ret_slot = queue->vacant[--queue->n_vacant];
		return 0;
	}
	r = GROW_BY_ONE(queue->slots, queue->n_slots_allocated, queue->n_slots);
	/* Room to give every slot back, so that taking a row out cannot fail. */
	if (r >= 0)
		r = grow_array(&queue->vacant, &queue->n_vacant_allocated, queue->n_slots + 1,
		        sizeof(queue->vacant[0]));
	if (r < 0)
		return r;
	*ret_slot = queue->n_slots++;
	return 0;
}

int row_queue_add(struct row_queue *queue, const struct heap_row *row)
{
	struct row_key key = {.time = row->time, .order = row->order};
	size_t at = queue->n;
	int r = GROW_BY_ONE(queue->keys, queue->n_keys_allocated, queue->n);

	if (r >= 0)
		r = find_slot(queue, &key.slot);
	if (r < 0)
		return r;
	queue->slots[key.slot] = *row;
	queue->n++;
	while (at > 0 && key_is_before(&key, &queue->keys[(at - 1) / 2])) {
		queue->keys[at] = queue->keys[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	queue->keys[at] = key;
	return 0;
}

void row_queue_take(struct row_queue *queue, struct heap_row *ret_row)
{
	size_t slot = queue->keys[0].slot;
	struct row_key last = queue->keys[--queue->n];
	size_t at = 0;

	*ret_row = queue->slots[slot];
	queue->vacant[queue->n_vacant++] = slot;
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= queue->n)
			break;
		if (child + 1 < queue->n && key_is_before(&queue->keys[child + 1], &queue->keys[child]))
			child++;
		if (key_is_before(&last, &queue->keys[child]))
			break;
		queue->keys[at] = queue->keys[child];
		at = child;
	}
	queue->keys[at] = last;
}

void row_queue_deinit(struct row_queue *queue)
{
	free(queue->keys);
	free(queue->slots);
	free(queue->vacant);
	*queue = (struct row_queue){0};
}
