/* diff.h: what changed from one profile to another, by call path.
 *
 * Call paths are matched by the names of their functions alone: addresses, lines and even the names of
 * modules change from build to build.
 */
#ifndef POST_REPORT_DIFF_H
#define POST_REPORT_DIFF_H

#include <stddef.h>
#include <stdint.h>

#include "report/gate.h"
#include "report/profile.h"
#include "report/report.h"

struct diff_path {
	uint32_t path_old; /* one of the paths in the old profile; STACKS_NONE: it is not there */
	uint32_t path_new;
	struct heap_tally old, new;
};

/* Both profiles must use the same `strings`; they are borrowed. */
struct diff {
	const struct profile *old, *new;
	struct diff_path *paths;
	size_t n_paths, n_paths_allocated;
};

/* 0 or -ENOMEM. Ends with diff_deinit. */
int diff_make(const struct profile *old, const struct profile *new, struct diff *ret_diff);
void diff_deinit(struct diff *diff);

/* The names of a call path in the newer profile that has it, innermost first: their number, and each as a
 * number of `strings` and as text. */
uint32_t diff_n_frames(const struct diff *diff, const struct diff_path *path);
uint32_t diff_frame_string(const struct diff *diff, const struct diff_path *path, uint32_t index);
const char *diff_frame_name(const struct diff *diff, const struct diff_path *path, uint32_t index);

/* The paths that moved, by the distance between old and new, largest first. The caller frees *ret_paths.
 * 0 or -ENOMEM. */
int diff_rank(const struct diff *diff, enum metric metric, uint32_t **ret_paths, size_t *ret_n);

struct gate_result {
	uint64_t old, new;
	bool matched; /* false: no call path has what the gate names */
	bool failed;
};

/* Applies a gate. */
void diff_check(const struct diff *diff, const struct gate *gate, struct gate_result *ret_result);

/* Both write the whole diff; results[i] is that of gates[i]. 0 or -ENOMEM. */
int diff_text(const struct diff *diff, const struct report_options *options, const struct gate *gates,
        const struct gate_result *results, size_t n_gates, const struct text_out *text);
int diff_json(const struct diff *diff, const struct report_options *options, const struct gate *gates,
        const struct gate_result *results, size_t n_gates, FILE *out);

#endif
