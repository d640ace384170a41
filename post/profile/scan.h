/* scan.h: what an artifact says as a whole. */
#ifndef POST_PROFILE_SCAN_H
#define POST_PROFILE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "artifact/benchmarks.h"
#include "heap/replay.h"
#include "profile/benchmark_heaps.h"
#include "profile/modules.h"
#include "profile/timeline.h"
#include "util/number_map.h"

struct scan {
	uint64_t n_events;
	uint64_t n_definitions;
	uint64_t n_truncated;
	uint64_t n_without_stack;
	uint64_t n_malformed;
	uint64_t n_unknown;
	uint64_t first_time; /* ns; the smallest timestamp */
	bool cut;
	const char *cut_reason;      /* a constant */
	struct number_map defined;   /* hashes */
	struct number_map named;     /* hashes that allocations refer to */
	struct number_map processes; /* with events: 1, or 2 + the pid of the parent */
	struct timeline *timeline;
	struct heap_order *order; /* between the passes */
	struct heap_sums sums;
	const struct benchmarks *benchmarks; /* given by the caller, may be empty */
	struct benchmark_heap *heaps;        /* of each benchmark */
	uint64_t n_disordered;               /* rows that no window in memory could put in order */
};

/* Tells how much of a pass is read: thousandths. Non-zero: stop. */
struct scan_progress {
	int (*report)(void *context, unsigned thousandths);
	void *context;
};

/* The first of two passes over the artifact at `fd`, from its start: everything but `sums`, `heaps` and
 * `n_disordered`. `scan` is all zero before but for `benchmarks`; modules are added. 0, -ENOMEM, the negative
 * errno of a read, or -EINTR; what was found until then is kept. The caller ends it with scan_deinit. */
int scan_artifact(struct scan *scan, int fd, struct modules *modules, const struct scan_progress *progress);

/* The second pass, over the same file: what the heap was like. On any thread; nobody else may use `scan`
 * meanwhile. Returns as the first one does. */
int scan_heap(struct scan *scan, int fd, const struct scan_progress *progress);

/* How many hashes are named and never defined. */
uint64_t scan_n_undefined(const struct scan *scan);

void scan_deinit(struct scan *scan);

#endif
