/* test_settings.c: the options of the memory instrument: what they mean, and what is refused with a reason. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "kernel/attach.h"
#include "settings.h"

static char said[512];

static void keep(void *context, unsigned level, const char *text)
{
	(void)context;
	(void)level;
	strncpy(said, text, sizeof(said) - 1);
}

static const struct log_sink log_kept = {keep, NULL};

static int parse(const char *name, const char *value, struct settings *settings)
{
	struct runner_setting given = {name, value};

	return settings_parse(&given, 1, &log_kept, settings);
}

Test(settings, defaults)
{
	struct settings settings;

	cr_assert_eq(settings_parse(NULL, 0, &log_kept, &settings), 0);
	cr_assert_not(settings.with_stacks);
	cr_assert_not(settings.scrub_stacks);
	cr_assert_eq(settings.stack_budget, STACK_BUDGET_DEFAULT);
	cr_assert_eq(settings.identity, IDENTITY_PATH);
	cr_assert_lt(settings.mechanism, 0);
}

Test(settings, budget_is_a_number_in_its_range)
{
	static const char *const refused[] = {"511", "65537", "", "x", "4096x", "-4096", " 4096", "99999999999999999999"};
	struct settings settings;

	cr_assert_eq(parse("stack-budget", "512", &settings), 0);
	cr_assert_eq(settings.stack_budget, 512);
	cr_assert_eq(parse("stack-budget", "65536", &settings), 0);
	cr_assert_eq(settings.stack_budget, 65536);
	cr_assert_eq(parse("stack-budget", "1001", &settings), 0);
	cr_assert_eq(settings.stack_budget, 1000, "whole words");
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		said[0] = '\0';
		cr_assert_eq(parse("stack-budget", refused[i], &settings), -EINVAL, "'%s'", refused[i]);
		cr_assert_not_null(strstr(said, "stack-budget"), "%s", said);
	}
}

Test(settings, words)
{
	struct settings settings;

	cr_assert_eq(parse("stack-identity", "raw", &settings), 0);
	cr_assert_eq(settings.identity, IDENTITY_RAW);
	cr_assert_eq(parse("stack-identity", "code", &settings), 0);
	cr_assert_eq(settings.identity, IDENTITY_CODE);
	cr_assert_eq(parse("stack-identity", "Path", &settings), -EINVAL);
	cr_assert_eq(parse("probes", "multi", &settings), 0);
	cr_assert_eq(settings.mechanism, ATTACH_MULTI);
	cr_assert_eq(parse("probes", "kprobe", &settings), -EINVAL);
	cr_assert_eq(parse("poll-interval", "2000", &settings), 0);
	cr_assert_eq(settings.poll_ns, 2000000000u);
	cr_assert_eq(parse("poll-interval", "0", &settings), -EINVAL);
	cr_assert_eq(parse("poll-interval", "4001", &settings), -EINVAL);
}

Test(settings, loops_are_one_of_two)
{
	struct settings settings;

	cr_assert_eq(parse("loops", "calls", &settings), 0);
	cr_assert(settings.loops_by_calls);
	cr_assert_eq(parse("loops", "auto", &settings), 0);
	cr_assert_not(settings.loops_by_calls);
	cr_assert_eq(parse("loops", "fast", &settings), -EINVAL);
	cr_assert(strstr(said, "'fast'"), "%s", said);
}
