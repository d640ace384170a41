/* test_takeover.c: one runner listens at a time, and none leaves its pipes, however it ends. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipes/support.h"

#define CONTROL "/tmp/runner.ctl.fifo"
#define ANSWERS "/tmp/runner.ack.fifo"
#define NOBODY  65534

TestSuite(takeover, .init = pipes_test_init, .fini = host_deinit);

static struct job start_long_run(void)
{
	char *mark = host_path("mark");
	struct job job;
	char *script;

	cr_assert(asprintf(&script, "echo here > %s; exec sleep 50", mark) > 0);
	unlink(mark);
	job = host_start(FAKE("--", "/bin/sh", "-c", script), NULL, NULL);
	host_await(mark, "here");
	return job;
}

static void end_by(int number)
{
	struct job job = start_long_run();

	cr_expect_eq(access(CONTROL, F_OK), 0);
	cr_assert_eq(kill(job.pid, number), 0);
	cr_expect_eq(host_finish(job).status, 128 + number);
	pipes_expect_clean();
}

Test(takeover, removed_after_signals)
{
	end_by(SIGINT);
	end_by(SIGTERM);
	end_by(SIGHUP);
}

Test(takeover, removed_where_nothing_was_run)
{
	char *script = host_path("script");

	host_write(script, "#!/no/such/interpreter\n", 0755);
	cr_expect_eq(host_run(FAKE("--", script)).status, 126);
	pipes_expect_clean();
	cr_expect_eq(host_run(FAKE("--fake-fail=pre_exec", "--", "/bin/true")).status, 125);
	pipes_expect_clean();
}

Test(takeover, second_runner)
{
	struct job first = start_long_run();
	struct outcome second = host_run(FAKE("--", "/bin/true"));

	cr_expect_eq(second.status, 125);
	cr_expect_eq(host_n_lines(second.err), 1, "%s", second.err);
	cr_expect_not_null(strstr(second.err, "another runner listens to integrations"), "%s", second.err);
	cr_expect_eq(host_run(FAKE("--no-integrations", "--", "/bin/true")).status, 0);
	cr_expect_eq(access(CONTROL, F_OK), 0);
	cr_assert_eq(kill(first.pid, SIGTERM), 0);
	host_finish(first);
	cr_expect_eq(host_run(FAKE("--", "/bin/true")).status, 0);
}

Test(takeover, after_a_killed_runner)
{
	struct job job = start_long_run();
	struct stat stale;

	cr_assert_eq(kill(job.pid, SIGKILL), 0);
	cr_expect_eq(host_finish(job).status, 137);
	cr_assert_eq(lstat(CONTROL, &stale), 0);
	cr_expect_eq(stale.st_mode, S_IFIFO | 0600);
	pipes_expect(DIALOGUE("bench=a"), 0, "ack\n");
}

Test(takeover, pipes_of_the_user)
{
	struct outcome outcome;

	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "65534", 1);
	outcome = host_run(FAKE("-q", "--", "/bin/sh", "-c",
	        "id -u; stat -c '%u %a %F' " CONTROL " " ANSWERS "; : > " CONTROL));
	cr_expect_str_eq(
	        outcome.out, "65534\n65534 600 fifo\n65534 600 fifo\n", "%s%s", outcome.out, outcome.err);
	cr_expect_eq(outcome.status, 0);
	pipes_expect_clean();
}

/* Whoever may write to /tmp must not be able to make the runner touch what it should not. */
Test(takeover, traps)
{
	char *target = host_path("target");
	struct outcome outcome;

	host_write(target, "precious", 0600);
	cr_assert_eq(symlink(target, ANSWERS), 0);
	outcome = host_run(FAKE("--", "/bin/true"));
	cr_expect_eq(outcome.status, 125);
	cr_expect_not_null(strstr(outcome.err, "is no pipe of this user"), "%s", outcome.err);
	cr_expect_str_eq(host_read(target), "precious");
	cr_expect_lt(access(CONTROL, F_OK), 0);
	unlink(ANSWERS);
	cr_assert_eq(mkfifo(CONTROL, 0666), 0);
	cr_assert_eq(chown(CONTROL, NOBODY, NOBODY), 0);
	cr_expect_eq(host_run(FAKE("--", "/bin/true")).status, 125);
	cr_expect_eq(access(CONTROL, F_OK), 0);
}

/* What the benchmark puts in place of the pipe is not removed with it. */
Test(takeover, replaced_meanwhile)
{
	struct outcome outcome =
	        host_run(FAKE("-q", "--", "/bin/sh", "-c", "rm " CONTROL "; echo mine > " CONTROL));

	cr_expect_eq(outcome.status, 0, "%s", outcome.err);
	cr_expect_str_eq(host_read(CONTROL), "mine\n");
	cr_expect_lt(access(ANSWERS, F_OK), 0);
}

/* The benchmark has no descriptor of them. */
Test(takeover, not_inherited)
{
	struct outcome outcome = host_run(FAKE("-q", "--", "/bin/sh", "-c", "ls -l /proc/$$/fd"));

	cr_expect_null(strstr(outcome.out, "fifo"), "%s", outcome.out);
}
