/* test_statuses.c: every exit status of the runner, provoked; and what is said with it. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/host.h"

TestSuite(statuses, .init = host_init, .fini = host_deinit);

static void expect_status(const char *const *argv, int status)
{
	struct outcome outcome = host_run(argv);

	cr_expect_eq(outcome.status, status, "status %d, not %d: %s", outcome.status, status, outcome.err);
}

/* For what goes wrong before the command: one line that names it, nothing on standard output, nothing left.
 */
static void expect_refusal(const char *const *argv, int status, const char *text)
{
	struct outcome outcome = host_run(argv);

	cr_expect_eq(outcome.status, status, "status %d, not %d", outcome.status, status);
	cr_expect_eq(host_n_lines(outcome.err), 1, "not one line: %s", outcome.err);
	cr_expect_not_null(strstr(outcome.err, text), "no '%s' in %s", text, outcome.err);
	cr_expect_str_empty(outcome.out);
	cr_expect_null(host_profile(), "a profile folder is left");
}

Test(statuses, success)
{
	expect_status(FAKE("--", "/bin/true"), 0);
}

Test(statuses, failure_of_the_command_passes_through)
{
	expect_status(FAKE("--", "/bin/sh", "-c", "exit 1"), 1);
	expect_status(FAKE("--", "/bin/sh", "-c", "exit 120"), 120);
	expect_status(FAKE("--", "/bin/sh", "-c", "exit 125"), 125);
	expect_status(FAKE("--", "/bin/sh", "-c", "exit 127"), 127);
	expect_status(FAKE("--", "/bin/sh", "-c", "exit 255"), 255);
}

Test(statuses, signal_of_the_command_is_128_and_its_number)
{
	expect_status(FAKE("--", "/bin/sh", "-c", "kill -KILL $$"), 128 + 9);
	expect_status(FAKE("--", "/bin/sh", "-c", "kill -SEGV $$"), 128 + 11);
}

Test(statuses, lost)
{
	expect_status(FAKE("--fake-lost=1", "--", "/bin/true"), 120);
	expect_status(FAKE("--fake-lost=1", "--allow-loss", "--", "/bin/true"), 0);
}

Test(statuses, not_traced)
{
	expect_status(FAKE("--fake-not-traced=2", "--", "/bin/true"), 121);
	/* Loss that is allowed does not hide it. */
	expect_status(FAKE("--fake-not-traced=2", "--fake-lost=1", "--allow-loss", "--", "/bin/true"), 121);
	expect_status(FAKE("--fake-not-traced=2", "--fake-lost=1", "--", "/bin/true"), 120);
}

Test(statuses, gate)
{
	expect_status(FAKE("--fake-gate", "--", "/bin/true"), 122);
}

Test(statuses, failure_of_the_command_wins)
{
	expect_status(FAKE("--fake-lost=1", "--", "/bin/sh", "-c", "exit 7"), 7);
	expect_status(FAKE("--fake-not-traced=1", "--", "/bin/sh", "-c", "exit 7"), 7);
	expect_status(FAKE("--fake-gate", "--", "/bin/sh", "-c", "exit 7"), 7);
	expect_status(FAKE("--fake-fail=post_exec", "--", "/bin/sh", "-c", "exit 7"), 7);
}

Test(statuses, what_changes_the_status_is_said_even_when_quiet)
{
	struct outcome outcome = host_run(FAKE("--quiet", "--fake-lost=1234", "--", "/bin/true"));

	cr_expect_eq(host_n_lines(outcome.err), 1, "%s", outcome.err);
	cr_expect_not_null(strstr(outcome.err, "lost: 1 234"), "%s", outcome.err);
}

Test(statuses, instrument_that_does_not_start)
{
	expect_refusal(FAKE("--fake-fail=open", "--", "/bin/true"), 125, "fake failure in open");
	expect_refusal(FAKE("--fake-fail=open:22", "--", "/bin/true"), 125, "fake failure in open");
	expect_refusal(FAKE("--fake-fail=open:1", "--fake-silent", "--", "/bin/true"), 125, "not permitted");
	expect_refusal(FAKE("--fake-fail=child_setup:5", "--", "/bin/true"), 125, "Input/output error");
	expect_refusal(
	        FAKE("--fake-fail=child_setup:die", "--", "/bin/true"), 125, "cannot start the command");
}

Test(statuses, instrument_that_refuses_the_child)
{
	char *mark = host_path("mark");

	expect_refusal(
	        FAKE("--fake-fail=pre_exec", "--", "/bin/touch", mark), 125, "fake failure in pre_exec");
	expect_refusal(FAKE("--fake-fail=pre_exec:12", "--fake-silent", "--", "/bin/touch", mark), 125,
	        "Cannot allocate memory");
	cr_expect_null(host_read(mark), "the command was started");
}

Test(statuses, instrument_that_does_not_finish)
{
	struct outcome outcome = host_run(FAKE("--fake-fail=post_exec", "--", "/bin/true"));

	cr_expect_eq(outcome.status, 125);
	cr_expect_not_null(strstr(outcome.err, "fake failure in post_exec"));
	cr_expect_not_null(strstr(host_read(host_profile_file("calls.txt")), "post_exec\nclose\n"));
	cr_expect_not_null(strstr(host_read(host_profile_file("summary.json")), "\"complete\":false"));
}

Test(statuses, figures_that_cannot_be_read_are_a_warning)
{
	struct outcome outcome = host_run(FAKE("--fake-fail=figures", "--", "/bin/true"));

	cr_expect_eq(outcome.status, 0);
	cr_expect_not_null(
	        strstr(outcome.err, "figures of the instrument cannot be read"), "%s", outcome.err);
}

Test(statuses, not_found)
{
	expect_refusal(FAKE("--", "no-such-command"), 127, "command not found: no-such-command");
	expect_refusal(FAKE("--", "./no-such-command"), 127, "not found");
	expect_refusal(FAKE("--", "/bin/true/x"), 127, "not found");
	expect_refusal(FAKE("--", ""), 127, "not found");
}

Test(statuses, not_executable)
{
	char *plain = host_path("plain");

	host_write(plain, "#!/bin/sh\n", 0644);
	expect_refusal(FAKE("--", plain), 126, plain);
	expect_refusal(FAKE("--", "/bin"), 126, "/bin: it is no executable file");
}

/* These show only at execve: nothing of the run stays then either. */
Test(statuses, refused_by_execve)
{
	char *script = host_path("script");
	char *busy = host_path("busy");
	int fd;

	host_write(script, "#!/no/such/interpreter\n", 0755);
	expect_refusal(FAKE("--", script), 126, "interpreter");
	host_copy("/bin/true", busy, 0755);
	fd = open(busy, O_WRONLY | O_CLOEXEC);
	expect_refusal(FAKE("--", busy), 126, "Text file busy");
	close(fd);
}

/* What execvp does with a script that does not say what it is for. */
Test(statuses, script_without_interpreter_line)
{
	char *script = host_path("script");

	host_write(script, "exit 42\n", 0755);
	expect_status(FAKE("--", script), 42);
}
