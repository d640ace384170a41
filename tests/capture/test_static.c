/* test_static.c: programs with their allocator inside: their calls are recorded, or the program is named as
 * not traced and the exit status says so; never neither. */
#include <criterion/criterion.h>
#include <string.h>

#include "capture/capture.h"
#include "util/cleanup.h"

/* Every call of the fixture and nothing else, from its first call on. Before that is what the C library
 * allocates while it starts: in a program that has its allocator inside no counter can be preloaded to tell
 * that. */
static void must_equal_from_its_first_call(const struct capture *capture)
{
	const struct call_record *first = &capture->fixture.log->records[0];
	struct capture later = *capture;
	struct heap_difference difference;
	uint64_t start = UINT64_MAX;

	for (size_t i = 0; i < capture->profile.n_calls && start == UINT64_MAX; i++)
		if (capture->profile.calls[i].addr == first->addr &&
		        capture->profile.calls[i].size == first->size)
			start = capture->profile.calls[i].timestamp;
	cr_assert_lt(start, UINT64_MAX, "the first call is not in the artifact");
	later.profile.calls = calloc(capture->profile.n_calls, sizeof(*later.profile.calls));
	later.profile.n_calls = 0;
	for (size_t i = 0; i < capture->profile.n_calls; i++)
		if (capture->profile.calls[i].timestamp >= start)
			later.profile.calls[later.profile.n_calls++] = capture->profile.calls[i];
	capture_compare(&capture->fixture, &later, &difference);
	free(later.profile.calls);
	heap_difference_print(&difference, stderr);
	cr_assert_eq(difference.n_missing, 0, "%zu calls are not in the artifact", difference.n_missing);
	cr_assert_eq(difference.n_extra, 0, "%zu events have no call", difference.n_extra);
	cr_assert_eq(difference.n_site_conflicts, 0);
	heap_difference_deinit(&difference);
}

static void static_case(const char *program, const char *name)
{
	CLEANUP_FREE char *path = capture_fixture_path(program);
	const char *argv[] = {path, NULL};
	struct capture_spec spec = {.name = name, .argv = argv, .fixture_log = true, .partial = true};
	struct json_object *list, *entry, *where;
	struct capture capture;

	if (access(path, X_OK) != 0)
		cr_skip_test("there is no musl-gcc");
	capture_need_rights();
	capture_run(&spec, &capture);
	cr_assert_eq(calls_count(&capture.fixture, CALL_DONE), 1, "the program did not reach its end:\n%s",
	        capture.result.err);
	cr_assert_eq(capture.loaded, 0);
	if (profile_n_not_traced(&capture.profile) == 0) {
		capture_must_be_whole(&capture, 0);
		must_equal_from_its_first_call(&capture);
	} else {
		cr_assert_eq(
		        capture.result.status, 121, "not traced, and exit status %d", capture.result.status);
		cr_assert(json_object_object_get_ex(capture.profile.metadata, "not_traced", &list));
		entry = json_object_array_get_idx(list, 0);
		cr_assert(json_object_object_get_ex(entry, "path", &where));
		cr_assert_not_null(strstr(json_object_get_string(where), program), "named: %s",
		        json_object_get_string(where));
		cr_assert_not_null(strstr(capture.result.err, program), "not said:\n%s", capture.result.err);
	}
	capture_deinit(&capture);
}

Test(statics, glibc)
{
	static_case("reallocs_static", "static");
}

Test(statics, glibc_pie)
{
	static_case("reallocs_static_pie", "static-pie");
}

Test(statics, musl)
{
	static_case("reallocs_musl_static", "static-musl");
}
