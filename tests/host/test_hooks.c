/* test_hooks.c: the instrument is called as runner_plugin.h says. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/host.h"

TestSuite(hooks, .init = host_init, .fini = host_deinit);

static char *calls(void)
{
	return host_read(host_profile_file("calls.txt"));
}

Test(hooks, order_and_arguments)
{
	char expected[1024];
	char *text;
	int pid;

	cr_assert_eq(host_run(FAKE("--", "/bin/sh", "-c", "exit 3")).status, 3);
	text = calls();
	cr_assert_not_null(strstr(text, "child pid="));
	pid = atoi(strstr(text, "child pid=") + strlen("child pid="));
	snprintf(expected, sizeof(expected),
	        "host abi=1 size=48 live=0 owner=%u:%u\n"
	        "open\n"
	        "setup '' cloexec=-1\n"
	        "child pid=%d\n"
	        "child size=24 uid=%u pidfd=1 argv0=/bin/sh\n"
	        "pre_exec\n"
	        "wait_status %d\n"
	        "post_exec\n"
	        "close\n",
	        (unsigned)getuid(), (unsigned)getgid(), pid, (unsigned)getuid(), 3 << 8);
	cr_expect_str_eq(text, expected);
}

Test(hooks, wait_status_of_a_signal)
{
	host_run(FAKE("--", "/bin/sh", "-c", "kill -KILL $$"));
	cr_expect_not_null(strstr(calls(), "wait_status 9\n"));
}

Test(hooks, descriptor_from_the_child)
{
	cr_assert_eq(host_run(FAKE("--fake-setup", "--", "/bin/true")).status, 0);
	cr_expect_not_null(strstr(calls(), "setup 'from the child' cloexec=1\n"));
}

Test(hooks, failed_open_is_not_closed)
{
	char *folder = host_path("profile");
	char *calls_path = host_path("profile/calls.txt");
	struct job job = host_start(FAKE("--profile-folder", folder, "--fake-fail=open",
	                                    "--fake-slow=open:700", "--", "/bin/true"),
	        NULL, NULL);
	FILE *log;
	char text[1024] = "";

	/* The folder goes away, so its file is opened before. */
	host_await(calls_path, "open\n");
	log = fopen(calls_path, "re");
	cr_assert_not_null(log);
	cr_expect_eq(host_finish(job).status, 125);
	cr_assert_gt(fread(text, 1, sizeof(text) - 1, log), 0);
	fclose(log);
	cr_expect_null(strstr(text, "close"));
}

Test(hooks, failed_pre_exec_is_closed)
{
	char *folder = host_path("profile");
	char *calls_path = host_path("profile/calls.txt");
	struct job job = host_start(FAKE("--profile-folder", folder, "--fake-fail=pre_exec",
	                                    "--fake-slow=pre_exec:700", "--", "/bin/true"),
	        NULL, NULL);
	FILE *log;
	char text[1024] = "";

	host_await(calls_path, "pre_exec\n");
	log = fopen(calls_path, "re");
	cr_assert_not_null(log);
	cr_expect_eq(host_finish(job).status, 125);
	cr_assert_gt(fread(text, 1, sizeof(text) - 1, log), 0);
	fclose(log);
	cr_expect_not_null(strstr(text, "pre_exec\nclose\n"));
}

Test(hooks, settings_are_passed_once_and_only_when_given)
{
	cr_assert_eq(host_run(FAKE("--fake-nothing", "a b", "--fake-nothing=c=d", "--fake-setup=no", "--",
	                              "/bin/true"))
	                     .status,
	        0);
	cr_expect_eq(strncmp(calls(), "setting fake-nothing=c=d\nhost ", 30), 0, "%s", calls());
}

Test(hooks, log_levels)
{
	struct outcome outcome = host_run(FAKE("--fake-log=0:bad news", "--", "/bin/true"));

	cr_expect_not_null(strstr(outcome.err, "runner: bad news\n"));
	outcome = host_run(FAKE("--fake-log=1:odd news", "-q", "--", "/bin/true"));
	cr_expect_str_eq(outcome.err, "runner: warning: odd news\n");
	outcome = host_run(FAKE("--fake-log=2:some news", "--", "/bin/true"));
	cr_expect_null(strstr(outcome.err, "news"));
	outcome = host_run(FAKE("--fake-log=2:some news", "-v", "--", "/bin/true"));
	cr_expect_not_null(strstr(outcome.err, "runner: some news\n"));
	outcome = host_run(FAKE("--fake-log=3:detail", "-v", "--", "/bin/true"));
	cr_expect_null(strstr(outcome.err, "detail"));
	outcome = host_run(FAKE("--fake-log=3:detail", "-vv", "--", "/bin/true"));
	cr_expect_not_null(strstr(outcome.err, "runner: detail\n"));
}

Test(hooks, messages_cannot_drive_the_terminal)
{
	struct outcome outcome = host_run(FAKE("--fake-log=0:a\033[2Jb\nc", "--", "/bin/true"));

	cr_expect_not_null(strstr(outcome.err, "runner: a?[2Jb?c\n"), "%s", outcome.err);
}
