/* capture.c: running commands under the runner. */
#include "capture/capture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/machine.h"
#include "support/memory.h"
#include "util/cleanup.h"

#define N_RECORDS (8u << 20)
#define N_WORDS   64

struct words {
	const char *word[N_WORDS + 1];
	size_t n;
};

static void add(struct words *words, const char *word)
{
	cr_assert_lt(words->n, N_WORDS, "command line too long for this test");
	words->word[words->n++] = word;
}

static void add_all(struct words *words, const char *const *list)
{
	for (size_t i = 0; list && list[i]; i++)
		add(words, list[i]);
}

void capture_need_rights(void)
{
	const char *reason = machine_why_no_capture();

	if (reason)
		cr_skip_test("no capture here: %s", reason);
}

const char *capture_env(const char *name)
{
	const char *value = getenv(name);

	cr_assert_not_null(value, "%s is not set: run the tests through meson", name);
	return value;
}

char *capture_fixture_path(const char *name)
{
	return test_text("%s/%s", capture_env("MEMSTACKS_FIXTURES"), name);
}

static void run_quietly(const char *const *argv)
{
	struct launch_result result;

	cr_assert_eq(launch_run(&(struct launch){.argv = argv}, &result), 0);
	cr_assert_eq(result.status, 0, "%s: %s", argv[0], result.err);
	launch_result_deinit(&result);
}

static char *new_path(const char *parent, const char *name)
{
	char *path = test_text("%s/%s", parent, name);

	run_quietly(WORDS("rm", "-rf", "--", path));
	run_quietly(WORDS("mkdir", "-p", "--", parent));
	return path;
}

char *capture_new_path(const char *name)
{
	CLEANUP_FREE char *parent = test_text("%s/scratch", capture_env("MEMSTACKS_BUILD"));

	return new_path(parent, name);
}

/* Where profiles are left for profile_check.py. */
static char *new_profile(const char *name)
{
	CLEANUP_FREE char *usual = test_text("%s/profiles", capture_env("MEMSTACKS_BUILD"));
	const char *wanted = getenv("MEMSTACKS_PROFILES");

	return new_path(wanted ? wanted : usual, name);
}

char *capture_new_folder(const char *name)
{
	char *path = capture_new_path(name);

	cr_assert_eq(mkdir(path, 0700), 0);
	return path;
}

static void open_logs(const struct capture_spec *spec, bool counter, struct capture *capture)
{
	if (spec->fixture_log)
		cr_assert_eq(calls_init(&capture->fixture, N_RECORDS), 0);
	if (counter)
		cr_assert_eq(calls_init(&capture->counter, N_RECORDS), 0);
}

static void check_logs(const struct capture_spec *spec, bool counter, const struct capture *capture)
{
	if (spec->fixture_log)
		cr_assert(!calls_overflowed(&capture->fixture), "more calls than the log has room for");
	if (counter)
		cr_assert(!calls_overflowed(&capture->counter), "more calls than the log has room for");
}

/* A variable that switches a witness on; or one of the same size without effect, so that a program that reads
 * its whole environment does the same in every run. */
static char *variable(const char *name, bool on, const char *value)
{
	return test_text("%.*s%c=%s", (int)strlen(name) - 1, name, on ? name[strlen(name) - 1] : '_', value);
}

static const char *log_path(const struct calls *calls)
{
	return calls->path ? calls->path : CALLS_PATH_LIKE;
}

/* The runner must not see the counter, so a program that allocates nothing sets the variables. */
static void run(const struct capture_spec *spec, bool counter, struct words *words, struct capture *capture)
{
	CLEANUP_FREE char *with_env = capture_fixture_path("with_env");
	CLEANUP_FREE char *fixture_log = NULL;
	CLEANUP_FREE char *counter_log = NULL;
	CLEANUP_FREE char *preload = variable("LD_PRELOAD", counter, capture_env("MEMSTACKS_COUNTER"));
	struct launch launch = {.env = spec->env, .folder = spec->folder, .timeout = spec->timeout};

	open_logs(spec, counter, capture);
	fixture_log = variable(CALL_LOG_FIXTURE_ENV, spec->fixture_log, log_path(&capture->fixture));
	counter_log = variable(CALL_LOG_COUNTER_ENV, counter, log_path(&capture->counter));
	add_all(words, WORDS(with_env, fixture_log, counter_log, preload, "--"));
	add_all(words, spec->argv);
	launch.argv = words->word;
	cr_assert_eq(launch_run(&launch, &capture->result), 0);
	cr_assert(
	        !capture->result.timed_out, "%s: not finished in time\n%s", spec->name, capture->result.err);
	check_logs(spec, counter, capture);
}

void capture_run(const struct capture_spec *spec, struct capture *ret_capture)
{
	struct capture capture = {
	        .folder = spec->partial ? capture_new_path(spec->name) : new_profile(spec->name)};
	struct words words = {0};

	add_all(&words, spec->wrapper);
	add(&words, capture_env("MEMSTACKS_RUNNER"));
	add(&words, "--instrument");
	add(&words, "memory");
	if (!spec->no_stacks)
		add(&words, "--experimental-stacks");
	add(&words, "--profile-folder");
	add(&words, capture.folder);
	add_all(&words, spec->options);
	add(&words, "--");
	run(spec, spec->counter, &words, &capture);
	capture.loaded = profile_load(capture.folder, &capture.profile);
	*ret_capture = capture;
}

void capture_run_alone(const struct capture_spec *spec, bool counter, struct capture *ret_capture)
{
	struct capture capture = {0};
	struct words words = {0};

	add_all(&words, spec->wrapper);
	run(spec, counter, &words, &capture);
	*ret_capture = capture;
}

void capture_deinit(struct capture *capture)
{
	free(capture->folder);
	launch_result_deinit(&capture->result);
	calls_deinit(&capture->fixture);
	calls_deinit(&capture->counter);
	if (capture->loaded == 0)
		profile_deinit(&capture->profile);
	*capture = (struct capture){0};
}
