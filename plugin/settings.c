/* settings.c: what the options mean. */
#include "settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/attach.h"
#include "util/cleanup.h"

const struct runner_option settings_options[SETTINGS_N_OPTIONS] = {
	{"experimental-stacks", NULL, "record the call stack of every allocation; without it only sizes and addresses"},
	{"stack-budget", "BYTES",
		"copy at most this much of a stack, 512 to 65536 (default 16384); more reaches further up deep stacks, "
		"less is faster"},
	{"stack-identity", "path|code|raw",
		"what makes two stacks the same: their call path, found by unwinding in the kernel (path, the default), "
		"the code addresses on them (code), or all their bytes (raw, for comparison: nearly every allocation then "
		"has a stack of its own)"},
	{"scrub-stacks", NULL,
		"keep only addresses of code and of the stack itself in the recorded stacks, so that no data of the program "
		"leaves the machine; the call paths stay the same"},
	{"probes", "auto|session|multi|perf",
		"how probes are attached; auto (the default) takes the best that the kernel has"},
	{"poll-interval", "MS",
		"look at the ring buffer every so many milliseconds, 1 to 4000 (default 4); a full ring slows the command "
		"down, nothing is lost"},
	{"define-every-stack", NULL,
		"for checking the identities: write the definition of every captured stack, not only of new ones"},
	{"loops", "auto|calls",
		"how the kernel side makes its loops; auto (the default): the fast way where the kernel has it (Linux 6.9), "
		"calls: as on older ones, for comparison"},
};

/* A whole number from `min` to `max`. */
static int parse_number(const char *option, const char *text, const char *unit, uint32_t min, uint32_t max,
	const struct log_sink *log, uint32_t *ret_number)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text < '0' || *text > '9' || value < min || value > max) {
		log_error(log, "--%s: '%s' is not a number of %s from %u to %u", option, text, unit, min, max);
		return -EINVAL;
	}
	*ret_number = value;
	return 0;
}

static int parse_budget(const char *text, const struct log_sink *log, uint32_t *ret_budget)
{
	int r = parse_number("stack-budget", text, "bytes", STACK_BUDGET_MIN, STACK_BUDGET_MAX, log, ret_budget);

	if (!r)
		*ret_budget &= ~7u; /* whole words */
	return r;
}

static int parse_interval(const char *text, const struct log_sink *log, uint32_t *ret_ns)
{
	uint32_t ms;
	int r = parse_number("poll-interval", text, "milliseconds", 1, 4000, log, &ms);

	if (!r)
		*ret_ns = ms * 1000000u;
	return r;
}

static int parse_identity(const char *text, const struct log_sink *log, enum stack_identity *ret_identity)
{
	if (!strcmp(text, "path")) {
		*ret_identity = IDENTITY_PATH;
	} else if (!strcmp(text, "code")) {
		*ret_identity = IDENTITY_CODE;
	} else if (!strcmp(text, "raw")) {
		*ret_identity = IDENTITY_RAW;
	} else {
		log_error(log, "--stack-identity: '%s' is none of 'path', 'code' and 'raw'", text);
		return -EINVAL;
	}
	return 0;
}

static int parse_mechanism(const char *text, const struct log_sink *log, int *ret_mechanism)
{
	static const char *const names[] = {
		[ATTACH_PERF] = "perf",
		[ATTACH_MULTI] = "multi",
		[ATTACH_SESSION] = "session",
	};

	if (!strcmp(text, "auto")) {
		*ret_mechanism = -1;
		return 0;
	}
	for (unsigned i = 0; i < N_ELEMENTS(names); i++)
		if (!strcmp(text, names[i])) {
			*ret_mechanism = i;
			return 0;
		}
	log_error(log, "--probes: '%s' is none of 'auto', 'session', 'multi' and 'perf'", text);
	return -EINVAL;
}

static int parse_loops(const char *text, const struct log_sink *log, bool *ret_by_calls)
{
	if (strcmp(text, "auto") && strcmp(text, "calls")) {
		log_error(log, "--loops: '%s' is neither 'auto' nor 'calls'", text);
		return -EINVAL;
	}
	*ret_by_calls = !strcmp(text, "calls");
	return 0;
}

int settings_parse(const struct runner_setting *given, uint32_t n_given, const struct log_sink *log,
	struct settings *ret_settings)
{
	struct settings settings = {
		.stack_budget = STACK_BUDGET_DEFAULT,
		.identity = IDENTITY_PATH,
		.mechanism = -1,
		.poll_ns = 4000000,
	};
	int r = 0;

	for (uint32_t i = 0; i < n_given && !r; i++) {
		if (!strcmp(given[i].name, "experimental-stacks"))
			settings.with_stacks = true;
		else if (!strcmp(given[i].name, "stack-budget"))
			r = parse_budget(given[i].value, log, &settings.stack_budget);
		else if (!strcmp(given[i].name, "stack-identity"))
			r = parse_identity(given[i].value, log, &settings.identity);
		else if (!strcmp(given[i].name, "poll-interval"))
			r = parse_interval(given[i].value, log, &settings.poll_ns);
		else if (!strcmp(given[i].name, "probes"))
			r = parse_mechanism(given[i].value, log, &settings.mechanism);
		else if (!strcmp(given[i].name, "scrub-stacks"))
			settings.scrub_stacks = true;
		else if (!strcmp(given[i].name, "define-every-stack"))
			settings.define_always = true;
		else if (!strcmp(given[i].name, "loops"))
			r = parse_loops(given[i].value, log, &settings.loops_by_calls);
	}
	if (r)
		return r;
	*ret_settings = settings;
	return 0;
}
