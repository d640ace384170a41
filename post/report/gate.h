/* gate.h: conditions that fail a comparison, such as `peak>+5%`.
 *
 *     GATE   := METRIC [ "@" PATH ] ">" LIMIT
 *     METRIC := a name of metric.h: total, count, peak, leak, temporary, …
 *     PATH   := FUNCTION { ";" FUNCTION }    outer before inner, next to each other, as in folded stacks
 *     LIMIT  := "+" NUMBER "%"               the new value may be that much larger than the old one
 *             | "+" NUMBER [ UNIT ]          … by that much
 *             | NUMBER [ UNIT ]              the new value itself
 *     NUMBER := digits [ "." digits ]
 *     UNIT   := B kB MB GB KiB MiB GiB       for metrics in bytes only
 *
 * The last ">" is the one that counts, so that functions may be named `operator>>` or `less<int>`. A function
 * is named as in the report, with or without its parameter list.
 */
#ifndef POST_REPORT_GATE_H
#define POST_REPORT_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/metric.h"

enum gate_kind {
	GATE_ABSOLUTE,
	GATE_GROWTH,
	GATE_PERCENT,
};

struct gate {
	char *text; /* as given */
	enum metric metric;
	enum gate_kind kind;
	uint64_t limit; /* bytes or blocks; GATE_PERCENT: millionths of a percent */
	char *path;     /* NULL: the whole profile; functions end with a NUL each */
	size_t n_functions;
};

/* 0; -EINVAL with a constant sentence in *ret_why; -ENOMEM. Ends with gate_deinit. */
int gate_parse(const char *text, struct gate *ret_gate, const char **ret_why);
void gate_deinit(struct gate *gate);

/* Whether the values fail the gate. */
bool gate_fails(const struct gate *gate, uint64_t old, uint64_t new);

/* Whether a call path holds what the gate names; name(context, i) gives its functions, innermost first. */
bool gate_matches(const struct gate *gate, const char *(*name)(const void *context, uint32_t index),
        const void *context, uint32_t n_frames);

/* Whether `spec` names the function `name`: the same text, or the same without the parameter list. */
bool gate_names(const char *spec, const char *name);

#endif
