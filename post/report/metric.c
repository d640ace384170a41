/* metric.c: names and values of metrics. */
#include "report/metric.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	const char *text;
	size_t offset;
	bool is_bytes;
} metrics[METRIC_N] = {
        [METRIC_TOTAL] = {"total", "bytes allocated", offsetof(struct heap_tally, total_bytes), true},
        [METRIC_COUNT] = {"count", "allocations", offsetof(struct heap_tally, n_total), false},
        [METRIC_PEAK] = {"peak", "bytes live at the peak", offsetof(struct heap_tally, peak_bytes), true},
        [METRIC_PEAK_COUNT] = {"peak-count", "blocks live at the peak", offsetof(struct heap_tally, n_peak),
                false},
        [METRIC_LEAK] = {"leak", "bytes never freed", offsetof(struct heap_tally, leaked_bytes), true},
        [METRIC_LEAK_COUNT] = {"leak-count", "blocks never freed", offsetof(struct heap_tally, n_leaked),
                false},
        [METRIC_TEMPORARY] = {"temporary", "temporary allocations", offsetof(struct heap_tally, n_temporary),
                false},
        [METRIC_TEMPORARY_BYTES] = {"temporary-bytes", "bytes of temporary allocations",
                offsetof(struct heap_tally, temporary_bytes), true},
};

const char *metric_name(enum metric metric)
{
	return metrics[metric].name;
}

const char *metric_text(enum metric metric)
{
	return metrics[metric].text;
}

bool metric_is_bytes(enum metric metric)
{
	return metrics[metric].is_bytes;
}

enum metric metric_find(const char *name)
{
	enum metric metric = 0;

	while (metric < METRIC_N && strcmp(metrics[metric].name, name) != 0)
		metric++;
	return metric;
}

uint64_t metric_of(enum metric metric, const struct heap_tally *tally)
{
	return *(const uint64_t *)((const char *)tally + metrics[metric].offset);
}
