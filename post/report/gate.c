/* gate.c: conditions for --fail-on. */
#include "report/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

#define PERCENT_SCALE 1000000u

static const struct {
	const char *name;
	uint64_t bytes;
} units[] = {
        {"B", 1},
        {"kB", 1000},
        {"MB", 1000 * 1000},
        {"GB", 1000 * 1000 * 1000},
        {"KiB", 1024},
        {"MiB", 1024 * 1024},
        {"GiB", 1024 * 1024 * 1024},
};

/* A decimal number times `scale`, exactly; digits that the scale cannot hold are refused. *text moves behind
 * it. */
static bool parse_number(const char **text, uint64_t scale, uint64_t *ret_value)
{
	unsigned __int128 value = 0, fraction = 0, weight = 1;
	const char *at = *text;

	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (unsigned)(*at - '0');
		if (value > UINT64_MAX)
			return false;
	}
	if (*at == '.') {
		if (at[1] < '0' || at[1] > '9')
			return false;
		for (at++; *at >= '0' && *at <= '9'; at++) {
			weight *= 10;
			fraction = fraction * 10 + (unsigned)(*at - '0');
			if (weight > 1000000000)
				return false;
		}
	}
	value = value * scale + fraction * scale / weight;
	if (value > UINT64_MAX || fraction * scale % weight)
		return false;
	*ret_value = (uint64_t)value;
	*text = at;
	return true;
}

static const char *skip_number(const char *text)
{
	return text + strspn(text, "0123456789.");
}

static const char *parse_limit(const char *text, struct gate *gate)
{
	uint64_t scale = 1;
	const char *unit;
	size_t i;

	gate->kind = *text == '+' ? GATE_GROWTH : GATE_ABSOLUTE;
	text += gate->kind == GATE_GROWTH;
	unit = skip_number(text);
	if (strcmp(unit, "%") == 0) {
		if (gate->kind != GATE_GROWTH)
			return "a percentage is a growth: write it with a +, as in peak>+5%";
		gate->kind = GATE_PERCENT;
		scale = PERCENT_SCALE;
	} else if (*unit) {
		if (!metric_is_bytes(gate->metric))
			return "this metric counts blocks: its limit has no unit";
		for (i = 0; i < N_ELEMENTS(units) && strcmp(units[i].name, unit) != 0; i++)
			;
		if (i == N_ELEMENTS(units))
			return "the limit's unit is none of B, kB, MB, GB, KiB, MiB, GiB and %";
		scale = units[i].bytes;
	}
	if (!parse_number(&text, scale, &gate->limit) || text != unit)
		return "the limit is not a number, or is too large, or has a fraction that its unit cannot "
		       "have";
	return NULL;
}

static int parse_path(const char *text, size_t n, struct gate *gate, const char **ret_why)
{
	char *at;

	gate->path = strndup(text, n);
	if (!gate->path)
		return -ENOMEM;
	gate->n_functions = 1;
	for (at = gate->path; *at; at++) {
		if (*at != ';')
			continue;
		*at = '\0';
		gate->n_functions++;
	}
	at = gate->path;
	for (size_t i = 0; i < gate->n_functions; i++, at += strlen(at) + 1) {
		if (*at)
			continue;
		*ret_why = "a function after the @ has no name";
		return -EINVAL;
	}
	return 0;
}

static int parse(const char *text, struct gate *gate, const char **ret_why)
{
	const char *limit = strrchr(text, '>'), *at = strchr(text, '@');
	CLEANUP_FREE char *name = NULL;
	int error = 0;

	if (!limit) {
		*ret_why = "there is no > in it";
		return -EINVAL;
	}
	if (at && at > limit)
		at = NULL;
	name = strndup(text, (size_t)((at ? at : limit) - text));
	if (!name)
		return -ENOMEM;
	gate->metric = metric_find(name);
	if (gate->metric == METRIC_N) {
		*ret_why =
		        "it does not begin with a metric: total, count, peak, peak-count, leak, leak-count, "
		        "temporary or temporary-bytes";
		return -EINVAL;
	}
	if (at)
		error = parse_path(at + 1, (size_t)(limit - at - 1), gate, ret_why);
	if (error < 0)
		return error;
	*ret_why = parse_limit(limit + 1, gate);
	return *ret_why ? -EINVAL : 0;
}

int gate_parse(const char *text, struct gate *ret_gate, const char **ret_why)
{
	struct gate gate = {.text = strdup(text)};
	int error = gate.text ? parse(text, &gate, ret_why) : -ENOMEM;

	if (error < 0)
		gate_deinit(&gate);
	else
		*ret_gate = gate;
	return error;
}

void gate_deinit(struct gate *gate)
{
	free(gate->text);
	free(gate->path);
	*gate = (struct gate){0};
}

bool gate_fails(const struct gate *gate, uint64_t old, uint64_t new)
{
	unsigned __int128 whole = (unsigned __int128)100 * PERCENT_SCALE;

	switch (gate->kind) {
	case GATE_ABSOLUTE:
		return new > gate->limit;
	case GATE_GROWTH:
		return new > old &&new - old > gate->limit;
	default:
		/* (new - old) / old > limit / 100, without a division; both products stay below 2^128. */
		return new > old && (new - old) * whole > (unsigned __int128)old * gate->limit;
	}
}

/* Where the parameter list of a function begins: the parenthesis that the last closing one belongs to, if
 * only qualifiers follow it. NULL: it has none. */
static const char *find_parameters(const char *name)
{
	const char *end = strrchr(name, ')'), *at;
	unsigned depth = 0;

	if (!end || strchr(end, '>') || strchr(end, ':'))
		return NULL;
	for (at = end;; at--) {
		depth += *at == ')';
		if (*at == '(' && --depth == 0)
			break;
		if (at == name)
			return NULL;
	}
	/* `operator()` itself, and names like `(anonymous namespace)`. */
	if (at == name || (at - name >= 8 && strncmp(at - 8, "operator", 8) == 0 && at + 1 == end))
		return NULL;
	return at;
}

bool gate_names(const char *spec, const char *name)
{
	const char *parameters;

	if (strcmp(spec, name) == 0)
		return true;
	parameters = find_parameters(name);
	return parameters && strlen(spec) == (size_t)(parameters - name) &&
	       memcmp(spec, name, (size_t)(parameters - name)) == 0;
}

bool gate_matches(const struct gate *gate, const char *(*name)(const void *context, uint32_t index),
        const void *context, uint32_t n_frames)
{
	const char *function;
	size_t i;

	if (!gate->path)
		return true;
	for (uint32_t outer = n_frames; outer >= gate->n_functions && outer > 0; outer--) {
		function = gate->path;
		for (i = 0; i < gate->n_functions; i++, function += strlen(function) + 1)
			if (!gate_names(function, name(context, outer - 1 - (uint32_t)i)))
				break;
		if (i == gate->n_functions)
			return true;
	}
	return false;
}
