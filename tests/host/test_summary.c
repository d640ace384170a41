/* test_summary.c: what a run came to, on standard error and in summary.json. */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/host.h"

TestSuite(summary, .init = host_init, .fini = host_deinit);

static struct json_object *read_summary(void)
{
	struct json_object *root = json_object_from_file(host_profile_file("summary.json"));

	cr_assert_not_null(root, "%s", json_util_get_last_err());
	return root;
}

/* The value under "a.b.c". */
static struct json_object *at(struct json_object *root, const char *path)
{
	char *copy = strdup(path);
	struct json_object *object = root;

	for (char *key = strtok(copy, "."); key; key = strtok(NULL, "."))
		cr_assert(json_object_object_get_ex(object, key, &object), "there is no %s", path);
	free(copy);
	return object;
}

static uint64_t number(struct json_object *root, const char *path)
{
	return json_object_get_uint64(at(root, path));
}

Test(summary, json)
{
	struct json_object *root;

	cr_assert_eq(host_run(FAKE("--fake-lost=5", "--fake-not-traced=2", "--", "/bin/sh", "-c",
	                              "sleep 0.2; exit 3"))
	                     .status,
	        3);
	root = read_summary();
	cr_expect_eq(number(root, "version"), 1);
	cr_expect_eq(number(root, "runner.abi_major"), 1);
	cr_expect_str_eq(json_object_get_string(at(root, "instrument.name")), "fake");
	cr_expect_str_eq(json_object_get_string(at(root, "instrument.version")), "1.2.3");
	cr_expect_eq(number(root, "command_status.exited"), 3);
	cr_expect_eq(number(root, "exit_status"), 3);
	cr_expect_geq(number(root, "wall_ns"), 200000000);
	cr_expect_leq(number(root, "wall_ns"), 30000000000);
	cr_expect_eq(number(root, "lost"), 5);
	cr_expect_eq(number(root, "not_traced"), 2);
	cr_expect_eq(number(root, "figures.allocations"), 12044);
	cr_expect_eq(number(root, "figures.big"), UINT64_MAX);
	cr_expect_eq(number(root, "figures.busy_ns"), 1500000000);
	cr_expect_not(json_object_get_boolean(at(root, "complete")));
	cr_expect_eq(json_object_array_length(at(root, "messages")), 2);
}

Test(summary, json_of_a_signal)
{
	struct json_object *root;

	cr_assert_eq(host_run(FAKE("--", "/bin/sh", "-c", "kill -TERM $$")).status, 143);
	root = read_summary();
	cr_expect_eq(number(root, "command_status.signal"), 15);
	cr_expect_eq(number(root, "exit_status"), 143);
	cr_expect(json_object_get_boolean(at(root, "complete")));
}

Test(summary, runners_own_status)
{
	struct json_object *root;

	cr_assert_eq(host_run(FAKE("--fake-lost=1", "--", "/bin/true")).status, 120);
	root = read_summary();
	cr_expect_eq(number(root, "command_status.exited"), 0);
	cr_expect_eq(number(root, "exit_status"), 120);
}

Test(summary, command_of_any_bytes)
{
	struct json_object *root;
	struct json_object *command;

	cr_assert_eq(host_run(FAKE("--", "/bin/true", "a \"b\"\n", "\xff", "\xc3\xa9")).status, 0);
	root = read_summary();
	command = at(root, "command");
	cr_assert_eq(json_object_array_length(command), 4);
	cr_expect_str_eq(json_object_get_string(json_object_array_get_idx(command, 1)), "a \"b\"\n");
	cr_expect_str_eq(json_object_get_string(json_object_array_get_idx(command, 2)), "\xef\xbf\xbd");
	cr_expect_str_eq(json_object_get_string(json_object_array_get_idx(command, 3)), "\xc3\xa9");
}

Test(summary, messages_are_repeated)
{
	cr_assert_eq(host_run(FAKE("--fake-log=1:odd \xff news", "--", "/bin/true")).status, 0);
	cr_expect_str_eq(json_object_get_string(json_object_array_get_idx(at(read_summary(), "messages"), 0)),
	        "odd \xef\xbf\xbd news");
}

/* More than there is room for at first. */
Test(summary, many_figures)
{
	struct json_object *root;

	cr_assert_eq(host_run(FAKE("--fake-figures=1000", "--", "/bin/true")).status, 0);
	root = read_summary();
	cr_expect_eq(json_object_object_length(at(root, "figures")), 1000);
	cr_expect_eq(number(root, "figures.key999"), 999);
}

Test(summary, too_many_figures_are_said)
{
	struct outcome outcome = host_run(FAKE("--fake-figures=2000", "--", "/bin/true"));

	cr_expect_eq(outcome.status, 0);
	cr_expect_not_null(strstr(outcome.err, "figures"), "%s", outcome.err);
	cr_expect_eq(json_object_object_length(at(read_summary(), "figures")), 0);
}

Test(summary, text)
{
	struct outcome outcome = host_run(FAKE("--fake-lost=12345", "--", "/bin/true"));

	cr_expect_not_null(
	        strstr(outcome.err, "runner: fake: ended with status 0 after "), "%s", outcome.err);
	cr_expect_not_null(strstr(outcome.err, "\n  allocations  12 044\n"), "%s", outcome.err);
	cr_expect_not_null(strstr(outcome.err, "\n  peak         1.9 MB\n"), "%s", outcome.err);
	cr_expect_not_null(strstr(outcome.err, "\n! lost         12 345\n"), "%s", outcome.err);
	cr_expect_null(strstr(outcome.err, "big"), "a figure that is not for the summary");
	cr_expect_null(strchr(outcome.err, '\033'), "control sequences without a terminal");
}

Test(summary, text_of_a_signal)
{
	struct outcome outcome = host_run(FAKE("--", "/bin/sh", "-c", "kill -KILL $$"));

	cr_expect_not_null(strstr(outcome.err, "ended by signal 9 (Killed) after "), "%s", outcome.err);
}

Test(summary, quiet)
{
	cr_expect_str_empty(host_run(FAKE("--quiet", "--", "/bin/true")).err);
}

Test(summary, benchmarks)
{
	struct outcome outcome = host_run(FAKE("--fake-benchmarks=60", "--", "/bin/true"));
	struct json_object *all = at(read_summary(), "benchmarks");

	cr_expect_not_null(strstr(outcome.err, "  benchmark                   allocs      peak\n"
	                                       "  tests/bench_x.py::test_a    12 044    604 kB\n"
	                                       "  (never named)               12 045    604 kB\n"),
	        "%s", outcome.err);
	cr_expect_not_null(strstr(outcome.err, "and 10 more"), "%s", outcome.err);
	cr_expect_null(strstr(outcome.err, "hidden"));
	cr_assert_eq(json_object_array_length(all), 60);
	cr_expect_str_eq(json_object_get_string(at(json_object_array_get_idx(all, 58), "uri")),
	        "tests/bench_x.py::test_a");
	cr_expect_eq(json_object_get_uint64(at(json_object_array_get_idx(all, 58), "hidden")), 58);
	cr_expect_eq(json_object_get_uint64(at(json_object_array_get_idx(all, 59), "allocs")), 12103);
}

Test(summary, benchmarks_that_do_not_fit_are_said)
{
	struct outcome outcome = host_run(FAKE("--fake-benchmarks=90", "--", "/bin/true"));

	cr_expect_eq(outcome.status, 0);
	cr_expect_not_null(
	        strstr(outcome.err, "figures of the benchmarks cannot be read"), "%s", outcome.err);
	cr_expect_eq(json_object_array_length(at(read_summary(), "benchmarks")), 77);
}
