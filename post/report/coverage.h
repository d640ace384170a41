/* coverage.h: how many allocations have a whole, named call stack, and what the rest lacks. */
#ifndef POST_REPORT_COVERAGE_H
#define POST_REPORT_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

#include "report/profile.h"

/* Allocations, unless said otherwise. */
struct coverage {
	uint64_t n_allocations;
	uint64_t n_whole;    /* reach the first frame of their process or thread */
	uint64_t n_stitched; /* … or not, and go on by frame pointers somewhere */
	uint64_t n_by_end[STACK_END_N];
	uint64_t n_no_stack;   /* name no stack */
	uint64_t n_undefined;  /* name a stack that is never defined */
	uint64_t n_unresolved; /* there was no usable metadata */
	uint64_t n_unnamed;    /* whole, with at least one frame without a name */
};

/* Stacks that ended early at one place. */
struct coverage_stop {
	enum stack_end end;
	uint32_t module; /* string; STRING_EMPTY: outside any file */
	uint64_t n_allocations;
	uint64_t n_stacks;
	uint64_t address; /* of one of them */
};

/* Frames without a name in one module. */
struct coverage_unnamed {
	uint32_t module;
	uint64_t n_frames;      /* distinct places */
	uint64_t n_allocations; /* whose stack holds such a frame */
};

void coverage_of(const struct profile *profile, struct coverage *ret_coverage);

/* Both: largest first; the caller frees the array. 0 or -ENOMEM. */
int coverage_stops(const struct profile *profile, struct coverage_stop **ret_stops, size_t *ret_n);
int coverage_unnamed(const struct profile *profile, struct coverage_unnamed **ret_modules, size_t *ret_n);

#endif
