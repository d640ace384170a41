/* profile.h: a profile folder, read whole: what every call stack and call path did to the heap. */
#ifndef POST_REPORT_PROFILE_H
#define POST_REPORT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/paths.h"
#include "artifact/benchmarks.h"
#include "report/facts.h"
#include "report/stacks.h"
#include "util/log.h"

struct profile_options {
	bool fold;             /* see stacks_new */
	size_t max_depth;      /* frames of a stack; 0: the resolver's own cap */
	const char *benchmark; /* count only what was allocated while this URI ran; NULL: everything */
	const struct log_sink *log;
	/* Called often, on the calling thread. `what` is a constant. A negative return ends the work with it.
	 * NULL: nobody asks. */
	int (*progress)(void *context, const char *what, unsigned thousandths);
	void *progress_context;
};

struct benchmark_sums {
	uint64_t n_total;
	uint64_t total_bytes;
};

struct profile {
	char *path;
	struct string_pool *strings; /* borrowed */
	struct stacks *stacks;
	struct heap_paths *heap;
	struct facts facts;
	struct benchmarks benchmarks;
	struct benchmark_sums *benchmark_sums; /* by index of benchmarks.benchmarks */
	size_t benchmark;                      /* the chosen one; SIZE_MAX: none */
	struct heap_tally *stack_tallies;      /* over all processes */
	struct heap_tally *path_tallies;
	struct heap_tally sum;
	uint64_t begin, end; /* ns, first and last event */
	uint64_t n_events;
	uint64_t n_definitions;
	uint64_t n_hashes;        /* defined */
	uint64_t n_paths;         /* call paths that allocated */
	uint64_t n_unknown;       /* events of an unknown type: skipped */
	uint64_t n_malformed;     /* events that could not be read: skipped */
	uint64_t n_without_stack; /* counted allocations that name no stack */
	uint64_t n_undefined;     /* counted allocations whose stack is never defined */
	char **problems;          /* why the figures are not those of a whole recording; empty: they are */
	size_t n_problems, n_problems_allocated;
};

/* Reads the folder at `path`. Names go to `strings`, which must outlive the profile. What cannot be read is a
 * problem of the profile, as long as there is an artifact. 0 or a negative errno: -ENOENT and others from
 * opening the folder, -ENODATA where it holds no artifact, -ENOKEY for an unknown benchmark, -ENOMEM, -E2BIG.
 */
int profile_load(const char *path, const struct profile_options *options, struct string_pool *strings,
        struct profile **ret_profile);

/* NULL-safe; returns NULL. */
struct profile *profile_free(struct profile *profile);

#endif
