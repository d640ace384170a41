/* metric.h: the figures that a call path can be measured by. */
#ifndef POST_REPORT_METRIC_H
#define POST_REPORT_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/paths.h"

enum metric {
	METRIC_TOTAL,           /* bytes allocated */
	METRIC_COUNT,           /* allocations */
	METRIC_PEAK,            /* bytes live at the peak */
	METRIC_PEAK_COUNT,      /* blocks live at the peak */
	METRIC_LEAK,            /* bytes never freed */
	METRIC_LEAK_COUNT,      /* blocks never freed */
	METRIC_TEMPORARY,       /* temporary allocations */
	METRIC_TEMPORARY_BYTES, /* bytes of temporary allocations */
	METRIC_N
};

/* As in options and files: "total", "peak-count", … */
const char *metric_name(enum metric metric);

/* What it measures, for people: "bytes allocated", … */
const char *metric_text(enum metric metric);

/* Whether it is in bytes; else it is a number of blocks. */
bool metric_is_bytes(enum metric metric);

/* The metric of a name; METRIC_N: there is none. */
enum metric metric_find(const char *name);

uint64_t metric_of(enum metric metric, const struct heap_tally *tally);

#endif
