/* export.h: a profile in the formats of other programs.
 *
 * All write to a stream, whose own errors stay with it (look at ferror at the end), and ask `progress` now
 * and then; a negative return of that ends them. They return 0 or a negative errno.
 */
#ifndef POST_EXPORT_EXPORT_H
#define POST_EXPORT_EXPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/diff.h"
#include "report/metric.h"
#include "report/profile.h"

struct export_options {
	enum metric metric; /* folded only */
	size_t max_nodes;   /* HTML only: frames of the graph that are kept; 0: a default */
	int (*progress)(void *context, const char *what, unsigned thousandths); /* as in profile_options */
	void *progress_context;
};

/* Folded stacks: `outermost;…;innermost value`, one call path a line, as flame graph programs read them. */
int export_folded(const struct profile *profile, const struct export_options *options, FILE *out);

/* pprof's profile.proto, gzipped: alloc_*, inuse_* (never freed), peak_* and temporary_*, with mappings and
 * build ids, inlined lines, and the process as a label. */
int export_pprof(const struct profile *profile, const struct export_options *options, FILE *out);

/* speedscope's JSON: one sampled profile for each of total, count, peak, leak and temporary. */
int export_speedscope(const struct profile *profile, const struct export_options *options, FILE *out);

/* DHAT's JSON, version 2, with lifetimes in ns and without accesses. Its end is that of each process: what
 * was never freed. */
int export_dhat(const struct profile *profile, const struct export_options *options, FILE *out);

/* One HTML page that needs nothing else: flame graphs, search, the timeline. */
int export_html(const struct profile *profile, const struct export_options *options, FILE *out);

/* The same for what changed from one profile to another. */
int export_html_diff(const struct diff *diff, const struct export_options *options, FILE *out);

/* For the exporters: asks `progress`, every few calls. */
int export_step(const struct export_options *options, const char *what, size_t done, size_t all);

#endif
