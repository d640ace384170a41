/* capture.c: running commands under the runner. */
#include "capture/capture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

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

static void remove_folder(const char *folder)
{
	const char *argv[] = {"rm", "-rf", "--", folder, NULL};
	struct launch_result result;

	cr_assert_eq(launch_run(&(struct launch){.argv = argv}, &result), 0);
	cr_assert_eq(result.status, 0, "rm -rf %s: %s", folder, result.err);
	launch_result_deinit(&result);
}

char *capture_new_folder(const char *name)
{
	const char *profiles = capture_env("MEMSTACKS_PROFILES");
	const char *argv[] = {"mkdir", "-p", "--", profiles, NULL};
	char *folder = test_text("%s/%s", profiles, name);
	struct launch_result result;

	remove_folder(folder);
	cr_assert_eq(launch_run(&(struct launch){.argv = argv}, &result), 0);
	cr_assert_eq(result.status, 0, "mkdir %s: %s", profiles, result.err);
	launch_result_deinit(&result);
	return folder;
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

/* The command itself, with the variables that switch the logs on. The runner must not see the counter, so a
 * program that allocates nothing sets them. */
static void add_command(struct words *words, const struct capture_spec *spec, char *set[static 4])
{
	if (set[0]) {
		add(words, set[0]);
		for (size_t i = 1; i < 4; i++)
			if (set[i])
				add(words, set[i]);
		add(words, "--");
	}
	add_all(words, spec->argv);
}

static void run(const struct capture_spec *spec, bool counter, struct words *words, struct capture *capture)
{
	char *set[4] = {NULL};
	struct launch launch = {.env = spec->env, .folder = spec->folder, .timeout = spec->timeout};

	open_logs(spec, counter, capture);
	if (spec->fixture_log || counter)
		set[0] = capture_fixture_path("with_env");
	if (spec->fixture_log)
		set[1] = test_text("%s=%s", CALL_LOG_FIXTURE_ENV, capture->fixture.path);
	if (counter) {
		set[2] = test_text("%s=%s", CALL_LOG_COUNTER_ENV, capture->counter.path);
		set[3] = test_text("LD_PRELOAD=%s", capture_env("MEMSTACKS_COUNTER"));
	}
	add_command(words, spec, set);
	add(words, NULL);
	launch.argv = words->word;
	cr_assert_eq(launch_run(&launch, &capture->result), 0);
	for (size_t i = 0; i < 4; i++)
		free(set[i]);
	cr_assert(
	        !capture->result.timed_out, "%s: not finished in time\n%s", spec->name, capture->result.err);
	check_logs(spec, counter, capture);
}

void capture_run(const struct capture_spec *spec, struct capture *ret_capture)
{
	struct capture capture = {.folder = capture_new_folder(spec->name)};
	struct words words = {0};

	add_all(&words, spec->wrapper);
	add(&words, capture_env("MEMSTACKS_RUNNER"));
	add(&words, "--instrument");
	add(&words, "memory");
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
