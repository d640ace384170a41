/* timeline.h: what lay at an address at a time, where later ranges cover earlier ones. */
#ifndef POST_RESOLVE_TIMELINE_H
#define POST_RESOLVE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses, end exclusive; times in ns. */
struct timeline_range {
	uint64_t start;
	uint64_t end;
	uint64_t time; /* from when it holds, until a later one covers it */
	void *value;
};

struct timeline;

/* Copies the ranges; empty ones are left out. A segment tree over all their ends: a query takes
 * O(log² n_ranges), and the memory is O(n log n), whatever the ranges are. 0 or -ENOMEM. */
int timeline_new(const struct timeline_range *ranges, size_t n_ranges, struct timeline **ret_timeline);

/* The range that held `address` at `time`: of those that cover it, the one with the latest time not after
 * `time`; among equals the last in the array. NULL where there is none. */
const struct timeline_range *timeline_find(const struct timeline *timeline, uint64_t address, uint64_t time);

/* NULL-safe; returns NULL. */
struct timeline *timeline_free(struct timeline *timeline);

#endif
