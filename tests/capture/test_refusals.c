/* test_refusals.c: what cannot be done is refused with one clear line and the right exit status. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/capture.h"
#include "support/memory.h"
#include "util/cleanup.h"

#define RUNNER  capture_env("MEMSTACKS_RUNNER")
#define MEMORY  RUNNER, "--instrument", "memory"
#define N_LINES 3 /* the clear line, and what may explain it */

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* The command line must end with `status`, say `said` (any case) on standard error in few lines, and not
 * start the command, which would print "ran". */
static void refused(const char *const *argv, const char *const *env, int status, const char *said)
{
	struct launch_result result;

	cr_assert_eq(launch_run(&(struct launch){.argv = argv, .env = env, .timeout = 30}, &result), 0);
	cr_assert(!result.timed_out);
	cr_assert_eq(result.status, status, "exit status %d, not %d:\n%s", result.status, status, result.err);
	cr_assert_not_null(strcasestr(result.err, said), "no \"%s\" in:\n%s", said, result.err);
	cr_assert_leq(count_lines(result.err), N_LINES, "too much was said:\n%s", result.err);
	cr_assert_null(strstr(result.out, "ran"), "the command was started");
	launch_result_deinit(&result);
}

Test(refusals, options)
{
	refused(WORDS(MEMORY, "--no-such-option", "--", "echo", "ran"), NULL, 125, "no-such-option");
	refused(WORDS(RUNNER, "--instrument", "../memory", "--", "echo", "ran"), NULL, 125, "memory");
	refused(WORDS(RUNNER, "--instrument", "nothing", "--", "echo", "ran"), NULL, 125, "nothing");
	refused(WORDS(MEMORY), NULL, 125, "command");
}

Test(refusals, values)
{
	static const char *const bad_budgets[] = {
	        "511", "65537", "-1", "0", "abc", "8192x", "", "18446744073709551616"};

	capture_need_rights();
	for (size_t i = 0; i < N_ELEMENTS(bad_budgets); i++)
		refused(WORDS(MEMORY, "--experimental-stacks", "--stack-budget", bad_budgets[i], "--", "echo",
		                "ran"),
		        NULL, 125, "stack-budget");
	refused(WORDS(MEMORY, "--experimental-stacks", "--stack-identity", "neither", "--", "echo", "ran"),
	        NULL, 125, "neither");
	refused(WORDS(MEMORY, "--experimental-stacks", "--", "echo", "ran"), WORDS("RUNNER_STACK_BUDGET=12"),
	        125, "12");
}

Test(refusals, command)
{
	CLEANUP_FREE char *file = capture_new_path("not-executable");
	CLEANUP_FREE char *folder = capture_new_path("refused-command");
	FILE *made = fopen(file, "we");

	capture_need_rights();
	cr_assert_not_null(made);
	fclose(made);
	chmod(file, 0644);
	refused(WORDS(MEMORY, "--profile-folder", folder, "--", "/no/such/command"), NULL, 127,
	        "/no/such/command");
	free(capture_new_path("refused-command"));
	refused(WORDS(MEMORY, "--profile-folder", folder, "--", "no-such-command-anywhere"), NULL, 127,
	        "no-such-command-anywhere");
	free(capture_new_path("refused-command"));
	refused(WORDS(MEMORY, "--profile-folder", folder, "--", file), NULL, 126, "not-executable");
	unlink(file);
}

Test(refusals, profile_folder)
{
	CLEANUP_FREE char *folder = capture_new_folder("refused-folder");
	CLEANUP_FREE char *inside = test_text("%s/something", folder);
	CLEANUP_FREE char *link = capture_new_path("refused-link");
	FILE *made;

	capture_need_rights();
	cr_assert_eq(symlink(folder, link), 0);
	refused(WORDS(MEMORY, "--profile-folder", link, "--", "echo", "ran"), NULL, 125, "link");
	unlink(link);
	made = fopen(inside, "we");
	cr_assert_not_null(made);
	fclose(made);
	refused(WORDS(MEMORY, "--profile-folder", folder, "--", "echo", "ran"), NULL, 125, "empty");
	unlink(inside);
	refused(WORDS(MEMORY, "--profile-folder", "/proc/no-such-folder", "--", "echo", "ran"), NULL, 125,
	        "/proc/no-such-folder");
}

/* Without rights: which ones are missing, and what grants them. */
Test(refusals, rights)
{
	CLEANUP_FREE char *folder = capture_new_path("refused-rights");

	capture_need_rights();
	refused(WORDS("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--", MEMORY,
	                "--experimental-stacks", "--profile-folder", folder, "--", "echo", "ran"),
	        NULL, 125, "CAP_");
}
