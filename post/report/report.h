/* report.h: what `memstacks report` and `memstacks unresolved` show. */
#ifndef POST_REPORT_REPORT_H
#define POST_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/profile.h"
#include "report/style.h"

struct report_options {
	size_t top;       /* call paths of each ranking; 0: all */
	size_t max_depth; /* frames of a call path that text shows; 0: all */
	size_t max_name;  /* bytes of a function's name that text shows; 0: all */
	bool by_process;  /* also the call paths at each process's own peak */
};

/* All write to a stream, whose own errors stay with it. 0 or -ENOMEM. */
int report_text(
        const struct profile *profile, const struct report_options *options, const struct text_out *text);
int report_json(const struct profile *profile, const struct report_options *options, FILE *out);
int unresolved_text(const struct profile *profile, const struct text_out *text);
int unresolved_json(const struct profile *profile, FILE *out);

/* The heading of all text reports: which profile, and whether it is whole. */
void report_head(const struct profile *profile, const char *what, const struct text_out *text);

/* The frames of a call path, innermost first. */
void report_frames(const struct profile *profile, uint32_t path, const struct report_options *options,
        const struct text_out *text);

#endif
