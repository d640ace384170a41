/* test_abi.c: the plugin ABI stays what was published: sizes and offsets on 64-bit machines. */
#include <criterion/criterion.h>
#include <stddef.h>

#include "runner_plugin.h"

/* What is there, and what was published. */
struct fact {
	const char *name;
	size_t actual, published;
};

#define OFFSET(type, member, offset) #type "." #member, offsetof(struct type, member), offset
#define SIZE(type, size)             "size of " #type, sizeof(struct type), size

static const struct fact facts[] = {
        {OFFSET(runner_host, abi_major, 0)},
        {OFFSET(runner_host, size, 4)},
        {OFFSET(runner_host, context, 8)},
        {OFFSET(runner_host, log, 16)},
        {OFFSET(runner_host, profile_path, 24)},
        {OFFSET(runner_host, profile_fd, 32)},
        {OFFSET(runner_host, owner_uid, 36)},
        {OFFSET(runner_host, owner_gid, 40)},
        {OFFSET(runner_host, wants_live, 44)},
        {SIZE(runner_host, 48)},
        {OFFSET(runner_option, name, 0)},
        {OFFSET(runner_option, argument, 8)},
        {OFFSET(runner_option, help, 16)},
        {SIZE(runner_option, 24)},
        {OFFSET(runner_setting, name, 0)},
        {OFFSET(runner_setting, value, 8)},
        {SIZE(runner_setting, 16)},
        {OFFSET(runner_child, size, 0)},
        {OFFSET(runner_child, pid, 4)},
        {OFFSET(runner_child, pidfd, 8)},
        {OFFSET(runner_child, setup_fd, 12)},
        {OFFSET(runner_child, argv, 16)},
        {SIZE(runner_child, 24)},
        {OFFSET(runner_figure, key, 0)},
        {OFFSET(runner_figure, label, 8)},
        {OFFSET(runner_figure, value, 16)},
        {OFFSET(runner_figure, unit, 24)},
        {OFFSET(runner_figure, flags, 28)},
        {SIZE(runner_figure, 32)},
        {OFFSET(runner_outcome, size, 0)},
        {OFFSET(runner_outcome, gate_failed, 4)},
        {OFFSET(runner_outcome, n_lost, 8)},
        {OFFSET(runner_outcome, n_not_traced, 16)},
        {SIZE(runner_outcome, 24)},
        {OFFSET(runner_plugin, abi_major, 0)},
        {OFFSET(runner_plugin, size, 4)},
        {OFFSET(runner_plugin, name, 8)},
        {OFFSET(runner_plugin, version, 16)},
        {OFFSET(runner_plugin, summary, 24)},
        {OFFSET(runner_plugin, options, 32)},
        {OFFSET(runner_plugin, n_options, 40)},
        {OFFSET(runner_plugin, reserved, 44)},
        {OFFSET(runner_plugin, open, 48)},
        {OFFSET(runner_plugin, child_setup, 56)},
        {OFFSET(runner_plugin, pre_exec, 64)},
        {OFFSET(runner_plugin, start, 72)},
        {OFFSET(runner_plugin, stop, 80)},
        {OFFSET(runner_plugin, figures, 88)},
        {OFFSET(runner_plugin, post_exec, 96)},
        {OFFSET(runner_plugin, close, 104)},
        {OFFSET(runner_plugin, integration, 112)},
        {OFFSET(runner_plugin, benchmark, 120)},
        {OFFSET(runner_plugin, marker, 128)},
        {OFFSET(runner_plugin, benchmark_figures, 136)},
        {SIZE(runner_plugin, 144)},
};

Test(abi, layout)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		cr_expect_eq(facts[i].actual, facts[i].published, "%s: %zu instead of %zu", facts[i].name,
		        facts[i].actual, facts[i].published);
}

Test(abi, numbers)
{
	cr_expect_eq(RUNNER_ABI_MAJOR, 1);
	cr_expect_str_eq(RUNNER_PLUGIN_SYMBOL, "runner_plugin");
	cr_expect_eq(RUNNER_PLUGIN_SIZE_MIN, 112);
	cr_expect_eq(RUNNER_NO_FD, 0x7fffffff);
	cr_expect(RUNNER_LOG_ERROR == 0 && RUNNER_LOG_WARNING == 1 && RUNNER_LOG_INFO == 2 &&
	          RUNNER_LOG_DEBUG == 3);
	cr_expect(RUNNER_UNIT_COUNT == 0 && RUNNER_UNIT_BYTES == 1 && RUNNER_UNIT_NANOSECONDS == 2);
	cr_expect(RUNNER_MARKER_SAMPLE_START == 0 && RUNNER_MARKER_SAMPLE_END == 1 &&
	          RUNNER_MARKER_ROUND_START == 2 && RUNNER_MARKER_ROUND_END == 3);
	cr_expect(RUNNER_FIGURE_LIVE == 1 && RUNNER_FIGURE_SUMMARY == 2 && RUNNER_FIGURE_BAD == 4);
}
