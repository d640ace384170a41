/* test_loader.c: where instruments are found, and which are refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner_plugin.h"
#include "support/host.h"

TestSuite(loader, .init = host_init, .fini = host_deinit);

/* The runner with an instrument of a directory. */
static struct outcome run_from(const char *directory, const char *instrument)
{
	return host_run(COMMAND(
	        host_runner(), "--plugin-dir", directory, "--instrument", instrument, "--", "/bin/true"));
}

static void expect_refused(struct outcome outcome, const char *text)
{
	cr_expect_eq(outcome.status, 125);
	cr_expect_eq(host_n_lines(outcome.err), 1, "not one line: %s", outcome.err);
	cr_expect_not_null(strstr(outcome.err, text), "no '%s' in %s", text, outcome.err);
	cr_expect_null(host_profile(), "a profile folder is left");
}

static char *make_directory(const char *name)
{
	char *path = host_path("%s", name);

	cr_assert_eq(mkdir(path, 0755), 0);
	return path;
}

Test(loader, another_abi)
{
	struct outcome outcome = run_from(host_programs(), "fake-abi");

	expect_refused(outcome, "ABI 77");
	cr_expect_not_null(strstr(outcome.err, "ABI 1"));
}

Test(loader, too_small)
{
	char own[32];
	struct outcome outcome = run_from(host_programs(), "fake-small");

	snprintf(own, sizeof(own), "%u", RUNNER_PLUGIN_SIZE_MIN);
	expect_refused(outcome, "64 bytes");
	cr_expect_not_null(strstr(outcome.err, own));
}

/* An instrument from before hooks were appended has none of them, whatever follows it in memory. */
Test(loader, without_appended_hooks)
{
	cr_expect_eq(run_from(host_programs(), "fake-old").status, 0);
}

/* A later version of the ABI may have appended to the structure. */
Test(loader, larger_is_accepted)
{
	cr_expect_eq(run_from(host_programs(), "fake-large").status, 0);
}

Test(loader, no_instrument)
{
	expect_refused(run_from(host_programs(), "empty"), "no symbol runner_plugin");
}

Test(loader, no_library)
{
	char *directory = make_directory("plugins");

	host_write(host_path("plugins/runner-text.so"), "just text\n", 0644);
	expect_refused(run_from(directory, "text"), "cannot load the instrument");
	/* What is there and broken is not passed over for one that comes later. */
	setenv("RUNNER_PLUGIN_PATH", host_programs(), 1);
	host_write(host_path("plugins/runner-fake.so"), "", 0644);
	expect_refused(run_from(directory, "fake"), "cannot load the instrument");
}

Test(loader, under_another_name)
{
	char *directory = make_directory("plugins");

	host_copy(host_program("runner-fake.so"), host_path("plugins/runner-other.so"), 0644);
	expect_refused(run_from(directory, "other"), "another instrument");
}

Test(loader, missing_names_every_place)
{
	struct outcome outcome;

	setenv("RUNNER_PLUGIN_PATH", "/first/place::/second/place", 1);
	outcome = run_from("/given/place", "none");
	expect_refused(outcome, "runner-none.so");
	cr_expect_not_null(
	        strstr(outcome.err, "/given/place, /first/place, /second/place, /"), "%s", outcome.err);
}

Test(loader, names_that_lead_elsewhere)
{
	static const char *const names[] = {"../fake", "/fake", "fake/../fake", "", ".", "fake.so", "FAKE",
	        "-fake", "fake\n",
	        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		expect_refused(run_from(host_programs(), names[i]), "cannot be an instrument");
}

Test(loader, plugin_path)
{
	char *path;

	cr_assert(asprintf(&path, "/no/such/place:%s", host_programs()) >= 0);
	setenv("RUNNER_PLUGIN_PATH", path, 1);
	cr_expect_eq(host_run(COMMAND(host_runner(), "--instrument", "fake", "--", "/bin/true")).status, 0);
}

Test(loader, given_directory_comes_first)
{
	char *directory = make_directory("plugins");
	char *expected;
	struct outcome outcome;

	host_copy(host_program("runner-fake.so"), host_path("plugins/runner-fake.so"), 0644);
	setenv("RUNNER_PLUGIN_PATH", host_programs(), 1);
	outcome = host_run(COMMAND(
	        host_runner(), "-v", "--plugin-dir", directory, "--instrument", "fake", "--", "/bin/true"));
	cr_assert(asprintf(&expected, "instrument fake 1.2.3 from %s/", directory) >= 0);
	cr_expect_not_null(strstr(outcome.err, expected), "%s", outcome.err);
}

static void change_directory(void *context)
{
	if (chdir(context) < 0)
		_exit(90);
}

/* dlopen searches the library path for a name without a slash. */
Test(loader, relative_directory)
{
	char *directory = make_directory("plugins");

	host_copy(host_program("runner-fake.so"), host_path("plugins/runner-fake.so"), 0644);
	cr_expect_eq(host_run_prepared(COMMAND(host_runner(), "--plugin-dir", ".", "--instrument", "fake",
	                                       "--", "/bin/true"),
	                     change_directory, directory)
	                     .status,
	        0);
}

Test(loader, build_tree)
{
	char *runner = host_path("build/subprojects/runner/runner");

	make_directory("build");
	make_directory("build/plugin");
	make_directory("build/subprojects");
	make_directory("build/subprojects/runner");
	host_copy(host_runner(), runner, 0755);
	expect_refused(
	        host_run(COMMAND(runner, "--instrument", "fake", "--", "/bin/true")), "/build/plugin, ");
	host_copy(host_program("runner-fake.so"), host_path("build/plugin/runner-fake.so"), 0644);
	cr_expect_eq(host_run(COMMAND(runner, "--instrument", "fake", "--", "/bin/true")).status, 0);
}
