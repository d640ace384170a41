/* overlay.h: what lay at an address at a time, where later ranges cover earlier ones. */
#ifndef POST_RESOLVE_OVERLAY_H
#define POST_RESOLVE_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses, end exclusive; times in ns. */
struct overlay_range {
	uint64_t start;
	uint64_t end;
	uint64_t time; /* from when it holds, until a later one covers it */
	void *value;
};

struct overlay;

/* Copies the ranges; empty ones are left out. A segment tree over all their ends: a query takes
 * O(log² n_ranges), and the memory is O(n log n), whatever the ranges are. 0 or -ENOMEM. */
int overlay_new(const struct overlay_range *ranges, size_t n_ranges, struct overlay **ret_overlay);

/* The range that held `address` at `time`: of those that cover it, the one with the latest time not after
 * `time`; among equals the last in the array. NULL where there is none. */
const struct overlay_range *overlay_find(const struct overlay *overlay, uint64_t address, uint64_t time);

/* NULL-safe; returns NULL. */
struct overlay *overlay_free(struct overlay *overlay);

#endif
