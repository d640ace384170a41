/* heap_event.h: one allocator call as both witnesses tell it: the log of the program, and the artifact. */
#ifndef TESTS_SUPPORT_HEAP_EVENT_H
#define TESTS_SUPPORT_HEAP_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "artifact/event.h"

struct heap_event {
	uint32_t pid;
	uint32_t tid;
	enum event_type type;
	uint32_t site; /* of a log: the call path; 0 where unknown */
	uint64_t size;
	uint64_t old_addr;
	uint64_t addr;
	uint64_t stack_hash; /* of an artifact */
	uint64_t timestamp;  /* of an artifact; of a log: the position */
};

/* Orders by pid, tid, type, size, addr, old_addr; 0 means the same call. */
int heap_event_compare_call(const struct heap_event *a, const struct heap_event *b);

/* Orders by type and size alone: what two runs of one program have in common. */
int heap_event_compare_shape(const struct heap_event *a, const struct heap_event *b);

typedef int (*heap_event_order)(const struct heap_event *a, const struct heap_event *b);

/* What two lists do not have in common. */
struct heap_difference {
	size_t n_same;
	struct heap_event *missing; /* in the first list only */
	size_t n_missing;
	struct heap_event *extra; /* in the second list only */
	size_t n_extra;
	size_t n_site_conflicts; /* hashes that stand for more than one site of the first list */
};

/* Compares two lists as multisets under `order`; equal elements are paired in order of timestamp. Both lists
 * are sorted in place. Ends the program where memory runs out: this is a test. */
void heap_compare(struct heap_event *expected, size_t n_expected, struct heap_event *seen, size_t n_seen,
        heap_event_order order, struct heap_difference *ret_difference);

/* Prints the first few differences for people. */
void heap_difference_print(const struct heap_difference *difference, FILE *file);

void heap_difference_deinit(struct heap_difference *difference);

#endif
