/* fixture_case.c: the usual course of a test with one fixture. */
#include "capture/fixture_case.h"

#include <criterion/criterion.h>

#include "util/cleanup.h"

#define N_ARGUMENTS 8

void fixture_case(const char *name, const char *program, const char *const *arguments,
        enum fixture_beside beside, struct capture *ret_capture)
{
	CLEANUP_FREE char *path = NULL;
	const char *argv[N_ARGUMENTS + 2] = {NULL};
	struct capture_spec spec = {.name = name,
	        .argv = argv,
	        .fixture_log = beside != BESIDE_COUNTER,
	        .counter = beside == BESIDE_COUNTER};
	struct capture capture;

	capture_need_rights();
	path = capture_fixture_path(program);
	argv[0] = path;
	for (size_t i = 0; arguments && arguments[i]; i++) {
		cr_assert_lt(i, N_ARGUMENTS);
		argv[i + 1] = arguments[i];
	}
	capture_run(&spec, &capture);
	capture_must_be_whole(&capture, 0);
	if (beside != BESIDE_COUNTER)
		cr_assert_gt(
		        calls_count(&capture.fixture, CALL_DONE), 0, "the program did not reach its end");
	if (beside == BESIDE_NOTHING)
		capture_must_equal(&capture.fixture, &capture);
	else if (beside == BESIDE_LIBRARY)
		capture_must_equal_fixture(&spec, &capture);
	else
		capture_must_equal(&capture.counter, &capture);
	capture_must_pass_check(&capture, true);
	*ret_capture = capture;
}

void fixture_case_only(
        const char *name, const char *program, const char *const *arguments, enum fixture_beside beside)
{
	struct capture capture;

	fixture_case(name, program, arguments, beside, &capture);
	capture_deinit(&capture);
}
