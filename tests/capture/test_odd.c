/* test_odd.c: programs that leave functions by unusual ways, or run on unusual stacks: they behave as without
 * the runner, nothing is muted and nothing counted twice. */
#include <criterion/criterion.h>
#include <glob.h>
#include <string.h>

#include "capture/fixture_case.h"
#include "support/memory.h"
#include "util/cleanup.h"

static size_t count_type(const struct profile *profile, enum event_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->n_calls; i++)
		n += profile->calls[i].type == type;
	return n;
}

Test(odd, operators_and_bad_alloc)
{
	struct capture capture;

	fixture_case("operators", "cxx_operators", WORDS("1000"), BESIDE_LIBRARY, &capture);
	/* 1 000 sized deletes, 100 after the exceptions, 6 forms, and 20 of the throwing handler's block. */
	cr_assert_geq(count_type(&capture.profile, EVENT_FREE), 1126);
	capture_deinit(&capture);
}

Test(odd, sized_deletes_are_one_free_each)
{
	struct capture one, two;

	fixture_case("deletes-0", "cxx_operators", WORDS("0"), BESIDE_LIBRARY, &one);
	fixture_case("deletes-1000", "cxx_operators", WORDS("1000"), BESIDE_LIBRARY, &two);
	cr_assert_eq(count_type(&two.profile, EVENT_FREE), count_type(&one.profile, EVENT_FREE) + 1000);
	cr_assert_eq(profile_n_allocations(&two.profile), profile_n_allocations(&one.profile) + 1000);
	capture_deinit(&one);
	capture_deinit(&two);
}

Test(odd, longjmp_out_of_a_hook)
{
	fixture_case_only("longjmps", "longjmps", WORDS("1000"), BESIDE_NOTHING);
}

Test(odd, fibers)
{
	struct capture capture;

	fixture_case("fibers", "fibers", WORDS("8", "200"), BESIDE_NOTHING, &capture);
	cr_assert_eq(profile_n_allocations(&capture.profile), 2 * 8 * 200 + 401);
	for (size_t i = 0; i < capture.profile.n_definitions; i++)
		cr_assert_gt(capture.profile.definitions[i].n_bytes, 64, "nearly nothing of a fiber's stack");
	capture_deinit(&capture);
}

Test(odd, handler_on_alternate_stack)
{
	fixture_case_only("altstack", "altstack", WORDS("20000", "100"), BESIDE_NOTHING);
}

Test(odd, handler_within_a_call)
{
	fixture_case_only("altstack-bump", "altstack_bump", WORDS("20000", "200"), BESIDE_NOTHING);
}

Test(odd, library_opened_late)
{
	CLEANUP_FREE char *library = capture_fixture_path("libbump.so");

	fixture_case_only("late-library", "late_library", WORDS(library, "200"), BESIDE_LIBRARY);
}

static bool file_has_line_ending(const char *path, const char *end)
{
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	char line[4096];

	while (file && fgets(line, sizeof(line), file)) {
		size_t n = strlen(line), n_end = strlen(end);

		if (n > n_end && strcmp(line + n - n_end, end) == 0)
			return true;
	}
	return false;
}

/* A library that is gone from the disk when the run ends is read from the descriptor kept since it was
 * mapped. */
Test(odd, library_removed_while_open)
{
	CLEANUP_FREE char *library = capture_fixture_path("libbump.so");
	CLEANUP_FREE char *program = capture_fixture_path("late_library");
	CLEANUP_FREE char *folder = capture_new_folder("removed-library-files");
	CLEANUP_FREE char *copy = test_text("%s/gone.so", folder);
	CLEANUP_FREE char *pattern = NULL;
	struct capture_spec spec = {.name = "removed-library", .fixture_log = true};
	struct capture capture;
	glob_t found;

	capture_need_rights();
	spec.argv =
	        WORDS("sh", "-ec", "cp \"$0\" \"$1\"; exec \"$2\" \"$1\" 100 unlink", library, copy, program);
	capture_run(&spec, &capture);
	capture_must_be_whole(&capture, 0);
	cr_assert_eq(calls_count(&capture.fixture, CALL_DONE), 1);
	cr_assert_neq(access(copy, F_OK), 0);
	pattern = test_text("%s/*__gone.so.symbols.map", capture.folder);
	cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "no %s", pattern);
	cr_assert(file_has_line_ending(found.gl_pathv[0], " malloc\n"));
	globfree(&found);
	capture_must_pass_check(&capture, true);
	capture_deinit(&capture);
}

/* Threads killed within a call may have returned and not logged it, or logged a free and not made it. */
static void must_equal_but_for(const struct capture *capture, const struct calls *log, size_t n_allowed)
{
	struct heap_difference difference;

	capture_compare(log, capture, &difference);
	if (difference.n_missing + difference.n_extra > n_allowed || difference.n_site_conflicts)
		heap_difference_print(&difference, stderr);
	cr_assert_gt(difference.n_same, 0);
	cr_assert_leq(difference.n_missing + difference.n_extra, n_allowed);
	cr_assert_eq(difference.n_site_conflicts, 0);
	heap_difference_deinit(&difference);
}

Test(odd, threads_that_end_while_allocating)
{
	CLEANUP_FREE char *path = capture_fixture_path("abrupt");
	struct capture_spec spec = {.name = "abrupt", .counter = true};
	struct capture capture;

	capture_need_rights();
	spec.argv = WORDS(path, "4", "100");
	capture_run(&spec, &capture);
	capture_must_be_whole(&capture, 0);
	must_equal_but_for(&capture, &capture.counter, 4);
	capture_deinit(&capture);
}

Test(odd, exec_by_a_thread_that_is_not_the_leader)
{
	CLEANUP_FREE char *path = capture_fixture_path("spawn");
	CLEANUP_FREE char *pairs = capture_fixture_path("pairs");
	struct capture_spec spec = {.name = "thread-exec", .counter = true, .fixture_log = true};
	struct capture capture;

	capture_need_rights();
	spec.argv = WORDS(path, "thread", "3", pairs, "1000");
	capture_run(&spec, &capture);
	capture_must_be_whole(&capture, 0);
	cr_assert_eq(calls_count(&capture.fixture, CALL_DONE), 1);
	must_equal_but_for(&capture, &capture.counter, 3);
	capture_deinit(&capture);
}
