/* rank.h: call paths, largest first. */
#ifndef POST_REPORT_RANK_H
#define POST_REPORT_RANK_H

#include <stddef.h>
#include <stdint.h>

#include "report/metric.h"
#include "report/profile.h"

/* What one call path did in one process. */
struct process_path {
	uint32_t process; /* of the profile's heap */
	uint32_t path;
	struct heap_tally tally;
};

/* The call paths whose metric is not 0, largest first; equal ones in the order of their first allocation.
 * The caller frees *ret_paths. 0 or -ENOMEM. */
int rank_paths(const struct profile *profile, enum metric metric, uint32_t **ret_paths, size_t *ret_n);

/* All pairs of process and call path, ordered by process, then by bytes at the peak of that process, largest
 * first. The caller frees *ret_pairs. 0 or -ENOMEM. */
int rank_process_paths(const struct profile *profile, struct process_path **ret_pairs, size_t *ret_n);

/* Source line of frame `index` (innermost: 0) of a call path: the file, or NULL where it is unknown, and the
 * line, 0 where its stacks differ. */
const char *rank_path_line(const struct profile *profile, uint32_t path, uint32_t index, uint32_t *ret_line);

#endif
