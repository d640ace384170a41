/* test_signals.c: signals reach the command once, and the runner ends in order whenever they come. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/host.h"

TestSuite(signals, .init = host_init, .fini = host_deinit);

/* Sends a signal to the runner only, and expects the line of counts that `catch` writes. */
static void expect_passed_on(int number, const char *counts)
{
	char *path = host_path("counts.%d", number);
	struct job job = host_start(FAKE("-q", "--", host_program("catch"), path), NULL, NULL);

	host_await(path, "ready");
	cr_assert_eq(kill(job.pid, number), 0);
	cr_expect_eq(host_finish(job).status, 0);
	cr_expect_not_null(strstr(host_read(path), counts), "signal %d: %s", number, host_read(path));
}

Test(signals, passed_on_once)
{
	expect_passed_on(SIGINT, "INT=1 TERM=0 HUP=0 QUIT=0 USR1=0 USR2=0");
	expect_passed_on(SIGTERM, "INT=0 TERM=1 HUP=0 QUIT=0 USR1=0 USR2=0");
	expect_passed_on(SIGHUP, "INT=0 TERM=0 HUP=1 QUIT=0 USR1=0 USR2=0");
	expect_passed_on(SIGQUIT, "INT=0 TERM=0 HUP=0 QUIT=1 USR1=0 USR2=0");
	expect_passed_on(SIGUSR1, "INT=0 TERM=0 HUP=0 QUIT=0 USR1=1 USR2=0");
}

static void own_group(void *context)
{
	(void)context;
	setpgid(0, 0);
}

/* The command signals its group, in which the runner is, too: that must not come back. */
Test(signals, not_sent_back_to_who_sent_it)
{
	char *path = host_path("counts");
	struct outcome outcome =
	        host_run_prepared(FAKE("-q", "--", host_program("catch"), path, "self"), own_group, NULL);

	cr_expect_eq(outcome.status, 0);
	cr_expect_not_null(strstr(host_read(path), "INT=0 TERM=1 "), "%s", host_read(path));
}

Test(signals, end_of_the_command_by_a_signal)
{
	struct job job = host_start(FAKE("--", "/bin/sleep", "50"), NULL, NULL);

	host_sleep_ms(500);
	cr_assert_eq(kill(job.pid, SIGTERM), 0);
	cr_expect_eq(host_finish(job).status, 143);
	cr_expect_not_null(
	        strstr(host_read(host_profile_file("calls.txt")), "wait_status 15\npost_exec\nclose\n"));
}

/* Waits for a line in the log of the hooks. */
static void await_call(const char *text)
{
	host_await(host_path("profile/calls.txt"), text);
}

/* A signal while a hook runs that comes before the command. */
static void expect_ended_before_start(const char *slow, const char *hook, int number)
{
	char *mark = host_path("mark");
	struct job job = host_start(
	        FAKE("--profile-folder", host_path("profile"), slow, "--", "/bin/touch", mark), NULL, NULL);
	struct outcome outcome;

	await_call(hook);
	cr_assert_eq(kill(job.pid, number), 0);
	outcome = host_finish(job);
	cr_expect_eq(outcome.status, 128 + number, "status %d: %s", outcome.status, outcome.err);
	cr_expect_eq(host_n_lines(outcome.err), 1, "%s", outcome.err);
	cr_expect_null(host_read(mark), "the command was started");
	cr_expect_eq(access(host_path("profile"), F_OK), -1, "the profile folder is left");
}

Test(signals, before_the_start)
{
	expect_ended_before_start("--fake-slow=open:600", "\nopen\n", SIGINT);
	expect_ended_before_start("--fake-slow=pre_exec:600", "pre_exec\n", SIGTERM);
}

static void ignore_hangup(void *context)
{
	(void)context;
	signal(SIGHUP, SIG_IGN);
}

/* nohup(1) must not be in vain. */
Test(signals, ignored_by_the_caller_before_the_start)
{
	struct job job = host_start(
	        FAKE("--profile-folder", host_path("profile"), "--fake-slow=open:600", "--", "/bin/true"),
	        ignore_hangup, NULL);

	await_call("\nopen\n");
	cr_assert_eq(kill(job.pid, SIGHUP), 0);
	cr_expect_eq(host_finish(job).status, 0);
}

Test(signals, one_interrupt_does_not_cut_the_finishing_short)
{
	struct job job = host_start(
	        FAKE("--profile-folder", host_path("profile"), "--fake-steps=8", "--", "/bin/true"), NULL,
	        NULL);

	await_call("post_exec\n");
	cr_assert_eq(kill(job.pid, SIGINT), 0);
	cr_expect_eq(host_finish(job).status, 0);
	cr_expect_null(strstr(host_read(host_path("profile/calls.txt")), "stopped"));
}

Test(signals, second_interrupt_cuts_the_finishing_short)
{
	struct job job = host_start(
	        FAKE("--profile-folder", host_path("profile"), "--fake-steps=500", "--", "/bin/true"), NULL,
	        NULL);
	struct outcome outcome;

	await_call("post_exec\n");
	cr_assert_eq(kill(job.pid, SIGINT), 0);
	host_sleep_ms(300);
	cr_assert_eq(kill(job.pid, SIGINT), 0);
	outcome = host_finish(job);
	cr_expect_eq(outcome.status, 125);
	cr_expect_not_null(strstr(outcome.err, "interrupted"), "%s", outcome.err);
	cr_expect_not_null(strstr(host_read(host_path("profile/calls.txt")), "stopped after"));
	cr_expect_not_null(strstr(host_read(host_path("profile/summary.json")), "\"complete\":false"));
}

/* The one that ended the command counts as the first. */
Test(signals, interrupt_of_the_command_counts)
{
	struct job job = host_start(FAKE("--profile-folder", host_path("profile"), "--fake-steps=500", "--",
	                                    host_program("catch"), host_path("counts")),
	        NULL, NULL);

	host_await(host_path("counts"), "ready");
	/* However many there were before. */
	cr_assert_eq(kill(job.pid, SIGINT), 0);
	host_sleep_ms(100);
	cr_assert_eq(kill(job.pid, SIGINT), 0);
	await_call("post_exec\n");
	host_sleep_ms(300);
	cr_expect_null(strstr(host_read(host_path("profile/calls.txt")), "stopped"));
	cr_assert_eq(kill(job.pid, SIGINT), 0);
	cr_expect_eq(host_finish(job).status, 125);
}

/* The command goes on and is not even stopped. */
Test(signals, killed_runner_leaves_the_command_alone)
{
	char *path = host_path("counts");
	struct job job = host_start(FAKE("--", host_program("catch"), path), NULL, NULL);
	char *ready;
	pid_t command;

	host_await(path, "ready");
	host_sleep_ms(20);
	ready = host_read(path);
	command = atoi(ready + strlen("ready "));
	cr_assert_gt(command, 1);
	cr_assert_eq(kill(job.pid, SIGKILL), 0);
	cr_expect_eq(host_finish(job).status, 137);
	host_sleep_ms(200);
	cr_assert_eq(kill(command, SIGUSR1), 0, "the command is gone");
	host_await(path, "INT=0 TERM=0 HUP=0 QUIT=0 USR1=1 USR2=0");
}

/* Whether the process has gone, or is a zombie that nobody has reaped. */
static bool is_gone(pid_t pid)
{
	char path[64];
	char *text;
	char state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	text = host_read(path);
	if (!text)
		return true;
	state = strrchr(text, ')')[2];
	free(text);
	return state == 'Z' || state == 'X';
}

Test(signals, killed_runner_does_not_leave_a_held_child)
{
	char *mark = host_path("mark");
	struct job job = host_start(FAKE("--profile-folder", host_path("profile"),
	                                    "--fake-slow=pre_exec:20000", "--", "/bin/touch", mark),
	        NULL, NULL);
	char *calls;
	pid_t command;

	await_call("\npre_exec\n");
	calls = host_read(host_path("profile/calls.txt"));
	command = atoi(strstr(calls, "child pid=") + strlen("child pid="));
	cr_assert_gt(command, 1);
	cr_expect_not(is_gone(command));
	cr_assert_eq(kill(job.pid, SIGKILL), 0);
	cr_expect_eq(host_finish(job).status, 137);
	for (int ms = 0; ms < 10000 && !is_gone(command); ms += 10)
		host_sleep_ms(10);
	cr_expect(is_gone(command), "the held child is left");
	cr_expect_null(host_read(mark), "the command was started");
}

/* A command that stops has not ended. */
Test(signals, stopped_and_continued_command)
{
	char *path = host_path("pid");
	struct job job = host_start(
	        FAKE("-q", "--", "/bin/sh", "-c", "echo $$ > \"$1\"; kill -STOP $$; exit 5", "sh", path),
	        NULL, NULL);
	pid_t command;

	host_await(path, "\n");
	command = atoi(host_read(path));
	host_sleep_ms(300);
	cr_assert_eq(kill(job.pid, 0), 0);
	cr_assert_eq(kill(command, SIGCONT), 0);
	cr_expect_eq(host_finish(job).status, 5);
}

static void set_alarm(void *context)
{
	(void)context;
	alarm(1);
}

/* As in: perl -e 'alarm 10; exec @ARGV' runner … */
Test(signals, alarm_of_the_caller)
{
	struct outcome outcome = host_run_prepared(FAKE("--", "/bin/sleep", "50"), set_alarm, NULL);

	cr_expect_eq(outcome.status, 128 + SIGALRM, "status %d", outcome.status);
	cr_expect_not_null(
	        strstr(host_read(host_profile_file("calls.txt")), "wait_status 14\npost_exec\nclose\n"));
}

static void close_error_reader(void *context)
{
	int ends[2];

	(void)context;
	if (pipe(ends) < 0 || dup2(ends[1], STDERR_FILENO) < 0)
		_exit(90);
	close(ends[0]);
	close(ends[1]);
}

/* Nobody reads the messages: that must not end the runner before the profile is finished. */
Test(signals, closed_pipe_as_standard_error)
{
	struct outcome outcome = host_run_prepared(FAKE("-vv", "--", "/bin/true"), close_error_reader, NULL);

	cr_expect_eq(outcome.status, 0, "status %d", outcome.status);
	cr_expect_not_null(strstr(host_read(host_profile_file("calls.txt")), "close\n"));
}
