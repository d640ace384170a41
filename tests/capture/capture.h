/* capture.h: one run of a command under the runner, with the witnesses beside it.
 *
 * Functions here assert by themselves (Criterion) where the text says "must".
 */
#ifndef TESTS_CAPTURE_CAPTURE_H
#define TESTS_CAPTURE_CAPTURE_H

#include "support/calls.h"
#include "support/launch.h"
#include "support/profile.h"

/* A NULL-terminated list of words. */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct capture_spec {
	const char *name;           /* of the profile folder; unique among all tests */
	const char *const *argv;    /* the command, NULL-terminated */
	const char *const *options; /* of the runner, in addition; may be NULL */
	const char *const *env;     /* of both; may be NULL */
	const char *folder;         /* working directory; may be NULL */
	const char *const *wrapper; /* command line put before the runner's; may be NULL */
	bool fixture_log;           /* the command is a fixture that logs its calls */
	bool counter;               /* preload the counter into the command */
	bool no_stacks;             /* without --experimental-stacks */
	bool partial;     /* the profile will not pass profile_check.py: not kept among those that do */
	unsigned timeout; /* seconds; 0: the default of launch.h */
};

struct capture {
	char *folder; /* the profile folder */
	struct launch_result result;
	struct calls fixture;
	struct calls counter;
	struct profile profile;
	int loaded; /* what profile_load returned */
};

/* Skips the test, with the reason, where nothing can be captured. Call it first. */
void capture_need_rights(void);

/* Paths of what was built; the caller frees them. */
char *capture_fixture_path(const char *name);
const char *capture_env(const char *name);

/* A path of the test's own with nothing there (what was there is removed); and one with an empty folder. */
char *capture_new_path(const char *name);
char *capture_new_folder(const char *name);

/* Runs a command under the runner. */
void capture_run(const struct capture_spec *spec, struct capture *ret_capture);

/* Runs the same command without the runner; with the counter when the spec says so or `counter` is true.
 * Only result, fixture and counter are set. */
void capture_run_alone(const struct capture_spec *spec, bool counter, struct capture *ret_capture);

void capture_deinit(struct capture *capture);

/* The runner must have ended with `status`, the artifact must be whole, every allocation must have a stack
 * that is defined, nothing lost, every process named; profile_check.py --stacks [--strict] must accept it. */
void capture_must_be_whole(const struct capture *capture, int status);

/* The folder must pass profile_check.py; where it is absent that is printed, and .ci/run counts it. */
void capture_must_pass_check(const struct capture *capture, bool strict);

/* What the artifact has beside the calls of a log (`seen` minus `log` in heap_compare's terms). */
void capture_compare(
        const struct calls *log, const struct capture *capture, struct heap_difference *ret_difference);

/* Every call of the log must be in the artifact, address by address, and nothing else of the processes in it;
 * no two sites may share a hash. */
void capture_must_equal(const struct calls *log, const struct capture *capture);

/* The same, but calls of the C library itself are allowed beside the fixture's: those that the counter sees
 * when the command runs alone, by type and size. */
void capture_must_equal_fixture(const struct capture_spec *spec, const struct capture *capture);

/* Every child that the fixture reports must have a Fork event with the right parent and an Exit. */
void capture_must_have_forks(const struct capture *capture);

#endif
