/* test_options.c: the command line and its twins in the environment. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/host.h"

TestSuite(options, .init = host_init, .fini = host_deinit);

static void expect_usage_error(const char *const *argv, const char *text)
{
	struct outcome outcome = host_run(argv);

	cr_expect_eq(outcome.status, 125, "status %d: %s", outcome.status, outcome.err);
	cr_expect_eq(host_n_lines(outcome.err), 1, "not one line: %s", outcome.err);
	cr_expect_not_null(strstr(outcome.err, text), "no '%s' in %s", text, outcome.err);
	cr_expect_null(host_profile(), "a profile folder is left");
}

Test(options, unknown)
{
	expect_usage_error(FAKE("--no-such=secret", "--", "/bin/true"), "there is no option '--no-such' ");
	expect_usage_error(FAKE("-x", "--", "/bin/true"), "'-x'");
	expect_usage_error(FAKE("-qx", "--", "/bin/true"), "'-qx'");
	expect_usage_error(FAKE("--fake", "--", "/bin/true"), "'--fake'");
}

Test(options, missing_argument)
{
	expect_usage_error(
	        COMMAND(host_runner(), "--plugin-dir", host_programs(), "--instrument"), "'--instrument'");
	expect_usage_error(FAKE("--profile-folder", "--", "/bin/true"), "'--profile-folder'");
	expect_usage_error(FAKE("--fake-lost"), "'--fake-lost'");
}

Test(options, missing_instrument_or_command)
{
	expect_usage_error(COMMAND(host_runner()), "which instrument?");
	expect_usage_error(COMMAND(host_runner(), "--", "/bin/true"), "which instrument?");
	expect_usage_error(FAKE("--quiet"), "which command?");
	expect_usage_error(FAKE("--quiet", "--"), "which command?");
}

Test(options, command_without_dashes)
{
	expect_usage_error(FAKE("/bin/true"), "must follow '--'");
	expect_usage_error(FAKE("/bin/true", "--", "/bin/true"), "'/bin/true'");
}

Test(options, instrument_named_twice)
{
	expect_usage_error(FAKE("--instr=other", "--", "/bin/true"), "two instruments");
	cr_expect_eq(host_run(FAKE("--instrument=fake", "--", "/bin/true")).status, 0);
}

/* Only what stands before the dashes is the runner's. */
Test(options, options_of_the_command_are_left_alone)
{
	cr_expect_str_eq(host_run(FAKE("-q", "--", "/bin/echo", "--instrument", "none", "--plugin-dir=/none",
	                                  "--help"))
	                         .out,
	        "--instrument none --plugin-dir=/none --help\n");
}

/* Runs with the variable and expects the status; unset afterwards. */
static void expect_with(const char *name, const char *value, const char *const *argv, int status)
{
	struct outcome outcome;

	setenv(name, value, 1);
	outcome = host_run(argv);
	unsetenv(name);
	cr_expect_eq(outcome.status, status, "%s=%s: status %d, not %d: %s", name, value, outcome.status,
	        status, outcome.err);
}

Test(options, twins_of_instrument_and_plugin_dir)
{
	setenv("RUNNER_PLUGIN_DIR", host_programs(), 1);
	expect_with("RUNNER_INSTRUMENT", "fake", COMMAND(host_runner(), "--", "/bin/true"), 0);
	expect_with("RUNNER_INSTRUMENT", "none", COMMAND(host_runner(), "--", "/bin/true"), 125);
	expect_with("RUNNER_INSTRUMENT", "none",
	        COMMAND(host_runner(), "--instrument", "fake", "--", "/bin/true"), 0);
}

Test(options, twin_of_profile_folder)
{
	char *folder = host_path("by-variable");

	expect_with("RUNNER_PROFILE_FOLDER", folder, FAKE("--", "/bin/true"), 0);
	cr_expect_not_null(host_read(host_path("by-variable/summary.json")));
	expect_with("RUNNER_PROFILE_FOLDER", folder, FAKE("--", "/bin/true"), 125);
	expect_with("RUNNER_PROFILE_FOLDER", folder,
	        FAKE("--profile-folder", host_path("other"), "--", "/bin/true"), 0);
	/* Empty is the same as not set. */
	expect_with("RUNNER_PROFILE_FOLDER", "", FAKE("--", "/bin/true"), 0);
	cr_expect_not_null(host_profile());
}

Test(options, twin_of_allow_loss)
{
	static const char *const yes[] = {"1", "true", "yes", "TRUE"};
	static const char *const no[] = {"0", "false", "no", ""};

	for (size_t i = 0; i < 4; i++) {
		expect_with("RUNNER_ALLOW_LOSS", yes[i], FAKE("--fake-lost=1", "--", "/bin/true"), 0);
		expect_with("RUNNER_ALLOW_LOSS", no[i], FAKE("--fake-lost=1", "--", "/bin/true"), 120);
	}
	expect_with(
	        "RUNNER_ALLOW_LOSS", "1", FAKE("--fake-lost=1", "--allow-loss=no", "--", "/bin/true"), 120);
}

Test(options, twins_of_quiet_and_verbose)
{
	setenv("RUNNER_QUIET", "1", 1);
	cr_expect_str_empty(host_run(FAKE("--", "/bin/true")).err);
	cr_expect_str_not_empty(host_run(FAKE("--quiet=0", "--", "/bin/true")).err);
	unsetenv("RUNNER_QUIET");
	setenv("RUNNER_VERBOSE", "2", 1);
	cr_expect_not_null(strstr(host_run(FAKE("--fake-log=3:detail", "--", "/bin/true")).err, "detail"));
	setenv("RUNNER_VERBOSE", "yes", 1);
	cr_expect_null(strstr(host_run(FAKE("--fake-log=3:detail", "--", "/bin/true")).err, "detail"));
	cr_expect_not_null(strstr(host_run(FAKE("--fake-log=2:news", "--", "/bin/true")).err, "news"));
	setenv("RUNNER_VERBOSE", "no", 1);
	cr_expect_null(strstr(host_run(FAKE("--fake-log=2:news", "--", "/bin/true")).err, "news"));
}

Test(options, twins_of_the_instruments_options)
{
	expect_with("RUNNER_FAKE_LOST", "3", FAKE("--", "/bin/true"), 120);
	expect_with("RUNNER_FAKE_LOST", "3", FAKE("--fake-lost=0", "--", "/bin/true"), 0);
	expect_with("RUNNER_FAKE_GATE", "yes", FAKE("--", "/bin/true"), 122);
	expect_with("RUNNER_FAKE_GATE", "no", FAKE("--", "/bin/true"), 0);
	expect_with("RUNNER_FAKE_GATE", "yes", FAKE("--fake-gate=false", "--", "/bin/true"), 0);
}

Test(options, values_that_are_not_valid)
{
	expect_with("RUNNER_QUIET", "maybe", FAKE("--", "/bin/true"), 125);
	expect_usage_error(FAKE("--quiet=maybe", "--", "/bin/true"), "--quiet takes");
	expect_usage_error(FAKE("--fake-gate=maybe", "--", "/bin/true"), "--fake-gate takes");
	setenv("RUNNER_QUIET", "maybe", 1);
	expect_usage_error(FAKE("--", "/bin/true"), "RUNNER_QUIET takes");
	unsetenv("RUNNER_QUIET");
	setenv("RUNNER_VERBOSE", "10", 1);
	expect_usage_error(FAKE("--", "/bin/true"), "RUNNER_VERBOSE takes");
}

/* Continuous integration sets variables of this form that have nothing to do with this runner. */
Test(options, foreign_variables_are_ignored)
{
	setenv("RUNNER_NAME", "some machine", 1);
	setenv("RUNNER_DEBUG", "1", 1);
	setenv("RUNNER_VERSION", "2.300.0", 1);
	setenv("RUNNER_HELP", "1", 1);
	cr_expect_str_empty(host_run(FAKE("-q", "--", "/bin/true")).err);
}

Test(options, help_teaches)
{
	static const char *const wanted[] = {"--instrument=NAME", "--plugin-dir=DIR", "--profile-folder=DIR",
	        "--quiet", "--verbose", "--allow-loss", "--help", "--version", "--fake-lost=N", "--fake-gate",
	        "does what its options", "Examples:", "Exit status:", "  120 ", "  121 ", "  122 ", "  123 ",
	        "  125 ", "  126 ", "  127 ", "Environment:", "RUNNER_PLUGIN_PATH", "TMPDIR", "NO_COLOR"};
	struct outcome outcome = host_run(FAKE("--help"));

	cr_expect_eq(outcome.status, 0);
	cr_expect_str_empty(outcome.err);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		cr_expect_not_null(strstr(outcome.out, wanted[i]), "no '%s'", wanted[i]);
	for (const char *line = outcome.out; *line; line += strcspn(line, "\n") + 1)
		cr_expect_leq(strcspn(line, "\n"), 100, "%.100s", line);
}

Test(options, help_without_an_instrument)
{
	struct outcome outcome = host_run(COMMAND(host_runner(), "-h"));

	cr_expect_eq(outcome.status, 0);
	cr_expect_not_null(strstr(outcome.out, "--instrument NAME --help"));
	outcome = host_run(COMMAND(host_runner(), "--instrument", "none", "--help"));
	cr_expect_eq(outcome.status, 0);
	cr_expect_not_null(strstr(outcome.err, "no instrument 'none'"));
}

Test(options, version)
{
	struct outcome outcome = host_run(FAKE("--version"));

	cr_expect_eq(outcome.status, 0);
	cr_expect_not_null(strstr(outcome.out, "plugin ABI 1)\nfake 1.2.3\n"), "%s", outcome.out);
}

static void output_to_full_disk(void *context)
{
	(void)context;
	if (!freopen("/dev/full", "w", stdout))
		_exit(90);
}

Test(options, help_that_cannot_be_written)
{
	struct outcome outcome = host_run_prepared(FAKE("--help"), output_to_full_disk, NULL);

	cr_expect_eq(outcome.status, 125);
	cr_expect_not_null(strstr(outcome.err, "standard output"));
}
