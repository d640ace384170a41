/* test_measured.c: benchmarks with the real instrument: exactly what they do is recorded, under their names.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipes/support.h"
#include "artifact/benchmarks.h"

TestSuite(measured, .init = pipes_test_init, .fini = host_deinit);

static void expect_figure(const char *uri, const char *key, uint64_t expected)
{
	uint64_t value = pipes_figure(pipes_summary(), uri, key);

	cr_expect_eq(value, expected, "%s of %s: %lu, not %lu", key, uri, value, expected);
}

static uint64_t whole(const char *key)
{
	struct json_object *figures = json_object_object_get(pipes_summary(), "figures");

	return json_object_get_uint64(json_object_object_get(figures, key));
}

static struct benchmarks read_timestamps(void)
{
	struct benchmarks benchmarks;
	int fd = open(host_profile(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_eq(benchmarks_read(fd, &benchmarks), 0);
	cr_assert(!benchmarks.broken);
	close(fd);
	return benchmarks;
}

Test(measured, only_benchmarks)
{
	struct outcome outcome = pipes_expect(
	        MEASURED("ping", "keep=3,1000", "start", "pairs=10,100", "keep=2,50", "drop=1", "stop",
	                "bench=x::a", "pairs=7,7", "start", "keep=1,300", "pairs=1,200", "drop=2", "stop",
	                "bench=x::b", "drop=1", "start", "pairs=5,8", "stop", "bench=x::a"),
	        0, "ack\nack\nack\nack\nack\nack\nack\nack\nack\nack\n");
	struct benchmarks benchmarks = read_timestamps();

	expect_figure("x::a", "allocs", 17);
	expect_figure("x::a", "bytes", 1140);
	expect_figure("x::a", "peak", 100);
	expect_figure("x::a", "samples", 2);
	expect_figure("x::a", "freed_from_before", 1);
	expect_figure("x::a", "live_after_stop", 2);
	expect_figure("x::a", "live_after_stop_bytes", 100);
	/* The two that it frees are of before the first benchmark: not recorded, so without a size. */
	expect_figure("x::b", "allocs", 2);
	expect_figure("x::b", "bytes", 500);
	expect_figure("x::b", "peak", 500);
	expect_figure("x::b", "freed_from_before", 2);
	expect_figure("x::b", "freed_from_before_bytes", 0);
	expect_figure("x::b", "live_after_stop", 1);
	expect_figure("x::b", "live_after_stop_bytes", 300);
	cr_expect_geq(pipes_figure(pipes_summary(), "x::a", "stacks"), 2);
	cr_expect_eq(benchmarks.n_benchmarks, 2);
	cr_expect_eq(benchmarks.n_windows, 3);
	cr_expect_not_null(strstr(outcome.err, "  benchmark    allocs     bytes      peak    stacks\n"
	                                       "  x::a             17    1.1 kB     100 B"),
	        "%s", outcome.err);
	benchmarks_deinit(&benchmarks);
}

/* Everything is recorded, and of what was before the benchmark the size is known. */
Test(measured, whole_process)
{
	const char *const *command = MEMORY_OPTIONS("--experimental-stacks", "--scope=process", "--",
	        pipes_client(), "name=hand,1.5", "keep=3,1000", "start", "pairs=10,100", "drop=2", "stop",
	        "bench=a", "pairs=20,5");
	struct json_object *metadata, *integration;

	pipes_expect(command, 0, "ack\nack\nack\nack\n");
	expect_figure("a", "allocs", 10);
	expect_figure("a", "peak", 100);
	expect_figure("a", "freed_from_before", 2);
	expect_figure("a", "freed_from_before_bytes", 2000);
	cr_expect_geq(whole("allocations"), 33);
	metadata = json_object_from_file(host_profile_file("memory_metadata.json"));
	integration = json_object_object_get(metadata, "integration");
	cr_expect_str_eq(json_object_get_string(json_object_array_get_idx(integration, 0)), "hand");
	cr_expect_str_eq(json_object_get_string(json_object_array_get_idx(integration, 1)), "1.5");
}

Test(measured, nothing_before_the_first_benchmark)
{
	pipes_expect(MEMORY_OPTIONS("--scope=benchmarks", "--", pipes_client(), "pairs=100,10", "start",
	                     "pairs=4,10", "stop", "bench=a", "pairs=100,10"),
	        0, "ack\nack\nack\n");
	cr_expect_eq(whole("allocations"), 4);
	cr_expect_eq(whole("lost"), 0);
}

/* The next one's figures do not contain what the dead one did. */
Test(measured, client_dies_inside)
{
	char *script;

	cr_assert(asprintf(&script, "%s start pairs=1000,100 die; %s ping start pairs=3,10 stop bench=b",
	                  pipes_client(), pipes_client()) > 0);
	cr_expect_eq(host_run(MEMORY_OPTIONS("--", "/bin/sh", "-c", script)).status, 0);
	expect_figure("b", "allocs", 3);
	expect_figure("b", "bytes", 30);
}

Test(measured, several_processes)
{
	char *script;

	cr_assert(asprintf(&script,
	                  "%s start pairs=3,10 stop bench=a; %s start pairs=4,10 stop bench=b; "
	                  "%s start pairs=5,10 stop bench=a",
	                  pipes_client(), pipes_client(), pipes_client()) > 0);
	cr_expect_eq(
	        host_run(MEMORY_OPTIONS("--experimental-stacks", "--", "/bin/sh", "-c", script)).status, 0);
	expect_figure("a", "allocs", 8);
	expect_figure("b", "allocs", 4);
	cr_expect_eq(whole("lost"), 0);
}

Test(measured, ten_thousand, .timeout = 120)
{
	struct benchmarks benchmarks;
	struct json_object *all;

	pipes_expect(MEASURED("many=10000"), 0, "");
	benchmarks = read_timestamps();
	cr_expect_eq(benchmarks.n_benchmarks, 10000);
	cr_expect_eq(benchmarks.n_windows, 10000);
	benchmarks_deinit(&benchmarks);
	all = json_object_object_get(pipes_summary(), "benchmarks");
	cr_assert_eq(json_object_array_length(all), 10000);
	for (size_t i = 0; i < 10000; i++) {
		struct json_object *one = json_object_array_get_idx(all, i);

		cr_assert_eq(
		        json_object_get_int(json_object_object_get(one, "allocs")), 2, "benchmark %zu", i);
		cr_assert_eq(json_object_get_int(json_object_object_get(one, "bytes")), 200);
		cr_assert_eq(json_object_get_int(json_object_object_get(one, "peak")), 100);
	}
}
