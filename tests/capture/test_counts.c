/* test_counts.c: fixtures with known calls: counts, sizes and addresses are exact, every allocation has a
 * stack. */
#include <criterion/criterion.h>

#include "capture/fixture_case.h"
#include "support/memory.h"
#include "util/cleanup.h"

Test(counts, pairs)
{
	struct capture capture;

	fixture_case("pairs", "pairs", WORDS("100000"), BESIDE_NOTHING, &capture);
	cr_assert_eq(capture.profile.n_calls, 200000);
	cr_assert_eq(profile_n_allocations(&capture.profile), 100000);
	/* One call path: the sizes and loop counters in its registers and its stack are no part of it. */
	cr_assert_leq(profile_n_hashes(&capture.profile), 4, "%zu hashes for one call path",
	        profile_n_hashes(&capture.profile));
	capture_deinit(&capture);
}

Test(counts, raw_identity)
{
	CLEANUP_FREE char *path = NULL;
	struct capture_spec spec = {.name = "pairs-raw", .fixture_log = true};
	struct capture capture;

	capture_need_rights();
	path = capture_fixture_path("pairs");
	spec.argv = WORDS(path, "3000");
	spec.options = WORDS("--stack-identity", "raw");
	capture_run(&spec, &capture);
	capture_must_be_whole(&capture, 0);
	capture_must_equal(&capture.fixture, &capture);
	capture_must_pass_check(&capture, true);
	cr_assert_geq(profile_n_hashes(&capture.profile), 64, "raw identity tells 64 sizes apart");
	capture_deinit(&capture);
}

/* The same events without stacks. */
Test(counts, without_stacks)
{
	CLEANUP_FREE char *path = NULL;
	struct capture_spec spec = {
	        .name = "reallocs-no-stacks", .fixture_log = true, .no_stacks = true, .partial = true};
	struct capture capture;

	capture_need_rights();
	path = capture_fixture_path("reallocs");
	spec.argv = WORDS(path);
	capture_run(&spec, &capture);
	cr_assert_eq(capture.result.status, 0, "%s", capture.result.err);
	cr_assert_eq(capture.loaded, 0);
	capture_must_equal(&capture.fixture, &capture);
	cr_assert_eq(profile_n_lost(&capture.profile), 0);
	cr_assert_eq(profile_n_hashes(&capture.profile), 0);
	cr_assert_eq(capture.profile.n_definitions, 0);
	capture_deinit(&capture);
}

/* Each way to attach that the kernel has gives the same. */
static void mechanism_case(const char *mechanism)
{
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE char *name = test_text("operators-%s", mechanism);
	struct capture_spec spec = {.name = name, .fixture_log = true};
	struct capture capture;

	capture_need_rights();
	path = capture_fixture_path("cxx_operators");
	spec.argv = WORDS(path, "500");
	spec.options = WORDS("--probes", mechanism);
	capture_run(&spec, &capture);
	if (capture.result.status == 125)
		cr_skip_test("%s", capture.result.err);
	capture_must_be_whole(&capture, 0);
	capture_must_equal_fixture(&spec, &capture);
	capture_must_pass_check(&capture, true);
	capture_deinit(&capture);
}

Test(counts, probes_by_perf_events)
{
	mechanism_case("perf");
}

Test(counts, probes_by_multi_links)
{
	mechanism_case("multi");
}

Test(counts, probes_by_sessions)
{
	mechanism_case("session");
}

static void identity_case(const char *identity)
{
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE char *name = test_text("forks-%s", identity);
	struct capture_spec spec = {.name = name, .fixture_log = true};
	struct capture capture;

	capture_need_rights();
	path = capture_fixture_path("forks");
	spec.argv = WORDS(path, "2", "3", "50");
	spec.options = WORDS("--stack-identity", identity);
	capture_run(&spec, &capture);
	capture_must_be_whole(&capture, 0);
	capture_must_equal(&capture.fixture, &capture);
	capture_must_pass_check(&capture, true);
	capture_deinit(&capture);
}

Test(counts, identity_by_path)
{
	identity_case("path");
}

Test(counts, identity_by_code)
{
	identity_case("code");
}

Test(counts, small_budget)
{
	CLEANUP_FREE char *path = NULL;
	struct capture_spec spec = {.name = "recursion-512", .fixture_log = true};
	struct capture capture;

	capture_need_rights();
	path = capture_fixture_path("recursion");
	spec.argv = WORDS(path, "500", "50");
	spec.options = WORDS("--stack-budget", "512");
	capture_run(&spec, &capture);
	capture_must_be_whole(&capture, 0);
	capture_must_equal(&capture.fixture, &capture);
	for (size_t i = 0; i < capture.profile.n_definitions; i++) {
		cr_assert_leq(capture.profile.definitions[i].n_bytes, 512);
		cr_assert(capture.profile.definitions[i].truncated);
	}
	capture_must_pass_check(&capture, true);
	capture_deinit(&capture);
}

Test(counts, deep_recursion)
{
	struct capture capture;

	fixture_case("recursion", "recursion", WORDS("200", "1000"), BESIDE_NOTHING, &capture);
	for (size_t i = 0; i < capture.profile.n_definitions; i++)
		cr_assert_gt(capture.profile.definitions[i].n_bytes, 200 * 56,
		        "the copy stops short of main: %zu bytes", capture.profile.definitions[i].n_bytes);
	capture_deinit(&capture);
}

Test(counts, very_deep_recursion)
{
	fixture_case_only("recursion-10000", "recursion", WORDS("10000", "200"), BESIDE_NOTHING);
}

Test(counts, threads)
{
	fixture_case_only("threads", "threads", WORDS("8", "5000"), BESIDE_LIBRARY);
}

Test(counts, threads_under_the_counter)
{
	fixture_case_only("threads-counter", "threads", WORDS("8", "2000"), BESIDE_COUNTER);
}

Test(counts, forks)
{
	struct capture capture;

	fixture_case("forks", "forks", WORDS("3", "3", "50"), BESIDE_NOTHING, &capture);
	cr_assert_eq(
	        profile_count_other(&capture.profile, EVENT_FORK), 39, "a tree of 1 + 3 + 9 + 27 processes");
	capture_must_have_forks(&capture);
	capture_deinit(&capture);
}

Test(counts, vfork_and_exec)
{
	CLEANUP_FREE char *pairs = capture_fixture_path("pairs");
	struct capture capture;

	fixture_case("vfork", "spawn", WORDS("vfork", "10", pairs, "500"), BESIDE_LIBRARY, &capture);
	capture_must_have_forks(&capture);
	cr_assert_eq(calls_count(&capture.fixture, CALL_DONE), 11);
	capture_deinit(&capture);
}

Test(counts, posix_spawn)
{
	CLEANUP_FREE char *pairs = capture_fixture_path("pairs");
	struct capture capture;

	fixture_case("spawn", "spawn", WORDS("posix_spawn", "10", pairs, "500"), BESIDE_LIBRARY, &capture);
	capture_must_have_forks(&capture);
	cr_assert_eq(calls_count(&capture.fixture, CALL_DONE), 11);
	capture_deinit(&capture);
}

Test(counts, chain_of_execs)
{
	CLEANUP_FREE char *pairs = capture_fixture_path("pairs");
	struct capture capture;

	fixture_case("chain", "spawn", WORDS("chain", "8", pairs, "500"), BESIDE_LIBRARY, &capture);
	/* with_env, the chain, and the program at its end. */
	cr_assert_eq(profile_count_other(&capture.profile, EVENT_EXEC), 11);
	capture_deinit(&capture);
}

Test(counts, clones)
{
	struct capture capture;

	fixture_case("clones", "clones", WORDS("6"), BESIDE_NOTHING, &capture);
	cr_assert_eq(profile_count_other(&capture.profile, EVENT_FORK), 12);
	capture_must_have_forks(&capture);
	capture_deinit(&capture);
}

Test(counts, cxx_call_paths)
{
	struct capture capture;

	fixture_case("cxx_paths", "cxx_paths", WORDS("5000"), BESIDE_COUNTER, &capture);
	cr_assert_geq(profile_n_hashes(&capture.profile), 3);
	capture_deinit(&capture);
}

Test(counts, reallocs)
{
	fixture_case_only("reallocs", "reallocs", NULL, BESIDE_NOTHING);
}

Test(counts, reallocs_without_pie)
{
	fixture_case_only("reallocs-nopie", "reallocs_nopie", NULL, BESIDE_NOTHING);
}

Test(counts, reallocs_musl)
{
	CLEANUP_FREE char *path = capture_fixture_path("reallocs_musl");

	if (access(path, X_OK) != 0)
		cr_skip_test("there is no musl-gcc");
	fixture_case_only("reallocs-musl", "reallocs_musl", NULL, BESIDE_NOTHING);
}
