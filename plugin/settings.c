/* settings.c: what the options mean. */
#include "settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct runner_option settings_options[SETTINGS_N_OPTIONS] = {
	{"experimental-stacks", NULL, "record the call stack of every allocation; without it only sizes and addresses"},
	{"stack-budget", "BYTES",
		"copy at most this much of a stack, 512 to 65536 (default 16384); more reaches further up deep stacks, "
		"less is faster"},
	{"stack-identity", "path|code|raw",
		"what makes two stacks the same: their call path, found by unwinding in the kernel (path, the default), "
		"the code addresses on them (code), or all their bytes (raw, for comparison: nearly every allocation then "
		"has a stack of its own)"},
	{"define-every-stack", NULL,
		"for checking the identities: write the definition of every captured stack, not only of new ones"},
};

static int parse_budget(const char *text, const struct log_sink *log, uint32_t *ret_budget)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < STACK_BUDGET_MIN || value > STACK_BUDGET_MAX) {
		log_error(log, "--stack-budget: '%s' is not a number of bytes from %u to %u", text, STACK_BUDGET_MIN,
			STACK_BUDGET_MAX);
		return -EINVAL;
	}
	*ret_budget = value & ~7ul;
	return 0;
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

int settings_parse(const struct runner_setting *given, uint32_t n_given, const struct log_sink *log,
	struct settings *ret_settings)
{
	struct settings settings = {.stack_budget = STACK_BUDGET_DEFAULT, .identity = IDENTITY_PATH};
	int r = 0;

	for (uint32_t i = 0; i < n_given && !r; i++) {
		if (!strcmp(given[i].name, "experimental-stacks"))
			settings.with_stacks = true;
		else if (!strcmp(given[i].name, "stack-budget"))
			r = parse_budget(given[i].value, log, &settings.stack_budget);
		else if (!strcmp(given[i].name, "stack-identity"))
			r = parse_identity(given[i].value, log, &settings.identity);
		else if (!strcmp(given[i].name, "define-every-stack"))
			settings.define_always = true;
	}
	if (r)
		return r;
	*ret_settings = settings;
	return 0;
}
