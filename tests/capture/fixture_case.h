/* fixture_case.h: the usual course of a test with one fixture. */
#ifndef TESTS_CAPTURE_FIXTURE_CASE_H
#define TESTS_CAPTURE_FIXTURE_CASE_H

#include "capture/capture.h"

enum fixture_beside {
	BESIDE_NOTHING, /* the C library allocates nothing itself: the log is everything */
	BESIDE_LIBRARY, /* what the C library allocates is told by the counter in a run alone */
	BESIDE_COUNTER, /* the fixture has no log: the counter in the captured run is the witness */
};

/* Runs fixture `program` with `arguments` (NULL-terminated, may be NULL) under the runner, where it must
 * behave as alone, and the capture must be whole and equal its log. Leaves the capture to the caller, who
 * ends it. */
void fixture_case(const char *name, const char *program, const char *const *arguments,
        enum fixture_beside beside, struct capture *ret_capture);

/* As fixture_case, for tests that ask nothing more. */
void fixture_case_only(
        const char *name, const char *program, const char *const *arguments, enum fixture_beside beside);

#endif
