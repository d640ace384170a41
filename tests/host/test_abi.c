/* test_abi.c: the plugin ABI stays what was published: sizes and offsets on 64-bit machines. */
#include <criterion/criterion.h>
#include <stddef.h>

#include "runner_plugin.h"

#define CHECK_OFFSET(type, member, offset) cr_expect_eq(offsetof(struct type, member), offset)
#define CHECK_SIZE(type, size)             cr_expect_eq(sizeof(struct type), size)

Test(abi, numbers)
{
	cr_expect_eq(RUNNER_ABI_MAJOR, 1);
	cr_expect_str_eq(RUNNER_PLUGIN_SYMBOL, "runner_plugin");
	cr_expect_eq(RUNNER_NO_FD, 0x7fffffff);
	cr_expect(RUNNER_LOG_ERROR == 0 && RUNNER_LOG_WARNING == 1 && RUNNER_LOG_INFO == 2 &&
	          RUNNER_LOG_DEBUG == 3);
	cr_expect(RUNNER_UNIT_COUNT == 0 && RUNNER_UNIT_BYTES == 1 && RUNNER_UNIT_NANOSECONDS == 2);
	cr_expect(RUNNER_MARKER_SAMPLE_START == 0 && RUNNER_MARKER_SAMPLE_END == 1 &&
	          RUNNER_MARKER_ROUND_START == 2 && RUNNER_MARKER_ROUND_END == 3);
	cr_expect(RUNNER_FIGURE_LIVE == 1 && RUNNER_FIGURE_SUMMARY == 2 && RUNNER_FIGURE_BAD == 4);
}

Test(abi, host)
{
	CHECK_OFFSET(runner_host, abi_major, 0);
	CHECK_OFFSET(runner_host, size, 4);
	CHECK_OFFSET(runner_host, context, 8);
	CHECK_OFFSET(runner_host, log, 16);
	CHECK_OFFSET(runner_host, profile_path, 24);
	CHECK_OFFSET(runner_host, profile_fd, 32);
	CHECK_OFFSET(runner_host, owner_uid, 36);
	CHECK_OFFSET(runner_host, owner_gid, 40);
	CHECK_OFFSET(runner_host, wants_live, 44);
	CHECK_SIZE(runner_host, 48);
}

Test(abi, small_structures)
{
	CHECK_OFFSET(runner_option, name, 0);
	CHECK_OFFSET(runner_option, argument, 8);
	CHECK_OFFSET(runner_option, help, 16);
	CHECK_SIZE(runner_option, 24);
	CHECK_OFFSET(runner_setting, name, 0);
	CHECK_OFFSET(runner_setting, value, 8);
	CHECK_SIZE(runner_setting, 16);
	CHECK_OFFSET(runner_child, size, 0);
	CHECK_OFFSET(runner_child, pid, 4);
	CHECK_OFFSET(runner_child, pidfd, 8);
	CHECK_OFFSET(runner_child, setup_fd, 12);
	CHECK_OFFSET(runner_child, argv, 16);
	CHECK_SIZE(runner_child, 24);
}

Test(abi, results)
{
	CHECK_OFFSET(runner_figure, key, 0);
	CHECK_OFFSET(runner_figure, label, 8);
	CHECK_OFFSET(runner_figure, value, 16);
	CHECK_OFFSET(runner_figure, unit, 24);
	CHECK_OFFSET(runner_figure, flags, 28);
	CHECK_SIZE(runner_figure, 32);
	CHECK_OFFSET(runner_outcome, size, 0);
	CHECK_OFFSET(runner_outcome, gate_failed, 4);
	CHECK_OFFSET(runner_outcome, n_lost, 8);
	CHECK_OFFSET(runner_outcome, n_not_traced, 16);
	CHECK_SIZE(runner_outcome, 24);
}

Test(abi, plugin)
{
	CHECK_OFFSET(runner_plugin, abi_major, 0);
	CHECK_OFFSET(runner_plugin, size, 4);
	CHECK_OFFSET(runner_plugin, name, 8);
	CHECK_OFFSET(runner_plugin, version, 16);
	CHECK_OFFSET(runner_plugin, summary, 24);
	CHECK_OFFSET(runner_plugin, options, 32);
	CHECK_OFFSET(runner_plugin, n_options, 40);
	CHECK_OFFSET(runner_plugin, reserved, 44);
	CHECK_OFFSET(runner_plugin, open, 48);
	CHECK_OFFSET(runner_plugin, child_setup, 56);
	CHECK_OFFSET(runner_plugin, pre_exec, 64);
	CHECK_OFFSET(runner_plugin, start, 72);
	CHECK_OFFSET(runner_plugin, stop, 80);
	CHECK_OFFSET(runner_plugin, figures, 88);
	CHECK_OFFSET(runner_plugin, post_exec, 96);
	CHECK_OFFSET(runner_plugin, close, 104);
	cr_expect_eq(RUNNER_PLUGIN_SIZE_MIN, 112);
	CHECK_OFFSET(runner_plugin, integration, 112);
	CHECK_OFFSET(runner_plugin, benchmark, 120);
	CHECK_OFFSET(runner_plugin, marker, 128);
	CHECK_OFFSET(runner_plugin, benchmark_figures, 136);
	CHECK_SIZE(runner_plugin, 144);
}
