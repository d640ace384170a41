/* order.h: the events of a stream in replay order (timestamp, then stream order), in bounded memory.
 *
 * Writers put events into a stream roughly, not exactly, by time. Two passes over the stream restore the
 * exact order without holding it all:
 *
 *     each event: heap_order_measure(order, event);
 *     heap_order_begin(order);
 *     each event again: heap_order_add(order, event); while (heap_order_next(order, &row)) …;
 *     heap_order_end(order); while (heap_order_next(order, &row)) …;
 *
 * A row comes `late` by as much as its time lies below the largest time before it. The first pass finds a
 * window that covers the lateness of all rows but a few stragglers (such as reallocs during which the process
 * was stopped), and keeps those; the second holds a row back only until the window has passed, and merges the
 * stragglers in.
 */
#ifndef POST_HEAP_ORDER_H
#define POST_HEAP_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "artifact/event.h"

/* Kind of a row: an enum event_type, or this: the end of the old block of a Realloc, at `entered`. */
#define HEAP_ROW_END EVENT_N_TYPES

/* One thing that happened at one time: an event, or one of the two halves of a Realloc. */
struct heap_row {
	uint64_t time;  /* ns */
	uint64_t order; /* place in the stream: rows before it */
	uint64_t addr;
	uint64_t size;       /* bytes; of a Mapping its length */
	uint64_t stack_hash; /* 0: none */
	uint32_t pid;
	uint32_t tid;
	uint32_t parent_pid; /* Fork */
	uint8_t kind;
	bool shares_memory; /* Fork */
};

struct heap_order;

/* The rows of one event in stream order: none for a StackDefinition, two for a Realloc with an old block.
 * Returns their number. `order` is left 0. */
unsigned heap_rows_of(const struct event *event, struct heap_row ret_rows[2]);

/* 0 or -ENOMEM. */
int heap_order_new(struct heap_order **ret_order);

/* First pass. 0 or -ENOMEM. */
int heap_order_measure(struct heap_order *order, const struct event *event);

/* Between the passes. */
void heap_order_begin(struct heap_order *order);

/* Second pass: the same events again; take out what heap_order_next gives before adding more. 0 or -ENOMEM.
 */
int heap_order_add(struct heap_order *order, const struct event *event);

/* After the last event: what is still held back may go. */
void heap_order_end(struct heap_order *order);

/* The next row that is surely the next one; false where more has to be added first. */
bool heap_order_next(struct heap_order *order, struct heap_row *ret_row);

/* How many rows are held back at most (for people). */
uint64_t heap_order_n_held_max(const struct heap_order *order);

/* Rows given too early, since no memory-bounded window covers a stream with absurd times (or one that changed
 * between the passes). 0: the order is exact. */
uint64_t heap_order_n_forced(const struct heap_order *order);

/* NULL-safe; returns NULL. */
struct heap_order *heap_order_free(struct heap_order *order);

#endif
