/* must.c: what a capture has to satisfy. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "support/memory.h"
#include "util/cleanup.h"

static void must_name_processes(const struct capture *capture)
{
	const struct profile *profile = &capture->profile;
	uint32_t last = 0;

	for (size_t i = 0; i < profile->n_calls; i++) {
		uint32_t pid = profile->calls[i].pid;

		if (pid != last)
			cr_assert_not_null(
			        profile_process_name(profile, pid), "process %" PRIu32 " has no name", pid);
		last = pid;
	}
}

void capture_must_pass_check(const struct capture *capture, bool strict)
{
	CLEANUP_FREE char *usual =
	        test_text("%s/../shared/tools/profile_check.py", capture_env("MEMSTACKS_SOURCE"));
	const char *wanted = getenv("MEMSTACKS_PROFILE_CHECK"), *checker = wanted ? wanted : usual;
	const char *argv[] = {"/usr/bin/python3", checker, "--stacks", strict ? "--strict" : capture->folder,
	        strict ? capture->folder : NULL, NULL};
	struct launch_result result;

	if (access(checker, R_OK) != 0) {
		fprintf(stderr, "%s: not checked, there is no %s\n", capture->folder, checker);
		return;
	}
	cr_assert_eq(launch_run(&(struct launch){.argv = argv, .timeout = 300}, &result), 0);
	cr_assert_eq(result.status, 0, "profile_check.py %s:\n%s%s", capture->folder, result.out, result.err);
	launch_result_deinit(&result);
}

void capture_must_be_whole(const struct capture *capture, int status)
{
	const struct profile *profile = &capture->profile;

	cr_assert_eq(capture->result.status, status, "exit status %d, not %d:\n%s", capture->result.status,
	        status, capture->result.err);
	cr_assert_eq(capture->loaded, 0, "no artifact in %s: %s\n%s", capture->folder,
	        strerror(-capture->loaded), capture->result.err);
	cr_assert_eq(profile->end, ARTIFACT_END, "the artifact is cut or corrupt (%d)", profile->end);
	cr_assert_eq(profile->n_unknown, 0);
	cr_assert_eq(profile->n_malformed, 0);
	cr_assert_gt(profile_n_allocations(profile), 0, "no allocations");
	cr_assert_eq(profile_n_without_stack(profile), 0, "%zu allocations without a stack",
	        profile_n_without_stack(profile));
	cr_assert_eq(profile_n_undefined(profile), 0, "%zu allocations name undefined hashes",
	        profile_n_undefined(profile));
	cr_assert_eq(profile_n_lost(profile), 0);
	must_name_processes(capture);
}

void capture_compare(
        const struct calls *log, const struct capture *capture, struct heap_difference *ret_difference)
{
	size_t n_expected, n_bytes = capture->profile.n_calls * sizeof(struct heap_event);
	CLEANUP_FREE struct heap_event *expected = calls_events(log, &n_expected);
	CLEANUP_FREE struct heap_event *seen = test_alloc(capture->profile.n_calls, sizeof(*seen));

	if (n_bytes > 0)
		memcpy(seen, capture->profile.calls, n_bytes);
	heap_compare(expected, n_expected, seen, capture->profile.n_calls, heap_event_compare_call,
	        ret_difference);
}

void capture_must_equal(const struct calls *log, const struct capture *capture)
{
	struct heap_difference difference;

	capture_compare(log, capture, &difference);
	if (difference.n_missing || difference.n_extra || difference.n_site_conflicts)
		heap_difference_print(&difference, stderr);
	cr_assert_gt(difference.n_same, 0, "no calls at all");
	cr_assert_eq(difference.n_missing, 0, "%zu calls are not in the artifact", difference.n_missing);
	cr_assert_eq(difference.n_extra, 0, "%zu events have no call", difference.n_extra);
	cr_assert_eq(difference.n_site_conflicts, 0, "one hash for two call paths");
	heap_difference_deinit(&difference);
}

/* What the C library itself calls when the command runs alone: the counter's log without the fixture's. */
static struct heap_event *calls_of_the_library(const struct capture_spec *spec, size_t *ret_n)
{
	struct heap_difference difference;
	struct heap_event *own, *all, *extra;
	struct capture alone;
	size_t n_own, n_all;

	capture_run_alone(spec, true, &alone);
	own = calls_events(&alone.fixture, &n_own);
	all = calls_events(&alone.counter, &n_all);
	heap_compare(own, n_own, all, n_all, heap_event_compare_call, &difference);
	extra = difference.extra;
	*ret_n = difference.n_extra;
	free(difference.missing); /* calls that bypass the dynamic linker, as those through dlsym */
	free(own);
	free(all);
	capture_deinit(&alone);
	return extra;
}

void capture_must_equal_fixture(const struct capture_spec *spec, const struct capture *capture)
{
	struct heap_difference difference, beside;
	CLEANUP_FREE struct heap_event *library = NULL;
	size_t n_library;

	capture_compare(&capture->fixture, capture, &difference);
	if (difference.n_missing || difference.n_site_conflicts)
		heap_difference_print(&difference, stderr);
	cr_assert_gt(difference.n_same, 0, "no calls at all");
	cr_assert_eq(difference.n_missing, 0, "%zu calls are not in the artifact", difference.n_missing);
	cr_assert_eq(difference.n_site_conflicts, 0, "one hash for two call paths");
	library = calls_of_the_library(spec, &n_library);
	heap_compare(
	        library, n_library, difference.extra, difference.n_extra, heap_event_compare_shape, &beside);
	if (beside.n_missing || beside.n_extra)
		heap_difference_print(&beside, stderr);
	cr_assert_eq(
	        beside.n_missing, 0, "%zu calls of the C library are not in the artifact", beside.n_missing);
	cr_assert_eq(beside.n_extra, 0, "%zu events have no call", beside.n_extra);
	heap_difference_deinit(&beside);
	heap_difference_deinit(&difference);
}

void capture_must_have_forks(const struct capture *capture)
{
	size_t n = calls_n_records(&capture->fixture);

	for (size_t i = 0; i < n; i++) {
		const struct call_record *record = &capture->fixture.log->records[i];
		const struct profile_other *fork;

		if (record->kind != CALL_FORK)
			continue;
		fork = profile_find_other(&capture->profile, EVENT_FORK, record->addr);
		cr_assert_not_null(fork, "no Fork of process %" PRIu64, record->addr);
		cr_assert_eq(fork->parent_pid, record->pid,
		        "process %" PRIu64 ": parent %" PRIu32 ", not %" PRIu32, record->addr,
		        fork->parent_pid, record->pid);
		cr_assert_eq(fork->shares_memory, record->size == 1,
		        "process %" PRIu64 ": shares_memory is wrong", record->addr);
		cr_assert_not_null(profile_find_other(&capture->profile, EVENT_EXIT, record->addr),
		        "no Exit of process %" PRIu64, record->addr);
	}
}
