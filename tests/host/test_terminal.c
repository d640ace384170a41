/* test_terminal.c: the live line on a terminal, and signals from one. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/host.h"
#include "support/terminal.h"

#define ERASE "\r\033[K"

static void set_up(void)
{
	host_init();
	setenv("TERM", "xterm", 1);
}

TestSuite(terminal, .init = set_up, .fini = host_deinit);

/* Counts how often something was written. */
static size_t count(const char *text, const char *wanted)
{
	size_t n = 0;

	for (; (text = strstr(text, wanted)); text += strlen(wanted))
		n++;
	return n;
}

Test(terminal, live_line)
{
	struct terminal terminal = terminal_start(FAKE("--", "/bin/sleep", "1.1"), 80);
	const char *last;

	cr_expect_eq(terminal_finish(&terminal), 0);
	cr_expect_geq(count(terminal.text, ERASE), 3, "%s", terminal.text);
	cr_expect_leq(count(terminal.text, ERASE), 10, "%s", terminal.text);
	cr_expect_not_null(
	        strstr(terminal.text, "ms | allocations 12 044 | peak 1.9 MB | lost 0"), "%s", terminal.text);
	cr_expect_not_null(strstr(host_read(host_profile_file("calls.txt")), "live=1"));
	/* Erased before the summary. */
	last = strstr(terminal.text, "runner: fake: ended");
	cr_assert(last && last - terminal.text >= (long)strlen(ERASE));
	cr_expect_eq(strncmp(last - strlen(ERASE), ERASE, strlen(ERASE)), 0, "%s", terminal.text);
}

Test(terminal, figures_are_read_anew)
{
	struct terminal terminal = terminal_start(FAKE("--", "/bin/sleep", "1"), 80);

	cr_expect_eq(terminal_finish(&terminal), 0);
	cr_expect_not_null(strstr(terminal.text, "calls 1"), "%s", terminal.text);
	cr_expect_not_null(strstr(terminal.text, "calls 2"), "%s", terminal.text);
}

Test(terminal, what_is_bad_comes_first_and_is_marked)
{
	struct terminal terminal = terminal_start(FAKE("--fake-lost=7", "--", "/bin/sleep", "0.5"), 80);

	cr_expect_eq(terminal_finish(&terminal), 120);
	cr_expect_not_null(strstr(terminal.text, "ms | !lost 7 | allocations"), "%s", terminal.text);
	cr_expect_not_null(strstr(terminal.text, "\033[31m! lost"), "%s", terminal.text);
}

Test(terminal, no_colour_when_not_wanted)
{
	struct terminal terminal;

	setenv("NO_COLOR", "1", 1);
	terminal = terminal_start(FAKE("--fake-lost=7", "--", "/bin/sleep", "0.5"), 80);
	cr_expect_eq(terminal_finish(&terminal), 120);
	cr_expect_null(strstr(terminal.text, "\033[3"), "%s", terminal.text);
	cr_expect_not_null(strstr(terminal.text, "! lost"), "%s", terminal.text);
	cr_expect_not_null(strstr(terminal.text, ERASE), "no live line");
}

/* Never wider than the terminal, whose last column stays free. */
Test(terminal, narrow)
{
	struct terminal terminal = terminal_start(FAKE("--", "/bin/sleep", "0.7"), 32);
	const char *line;

	cr_expect_eq(terminal_finish(&terminal), 0);
	line = strstr(terminal.text, ERASE);
	cr_assert_not_null(line);
	cr_expect_not_null(strstr(terminal.text, "allocations 12 044"), "%s", terminal.text);
	cr_expect_null(strstr(terminal.text, "12 044 | peak"), "%s", terminal.text);
	for (; line; line = strstr(line, ERASE)) {
		line += strlen(ERASE);
		if (strncmp(line, "runner: ", 8))
			cr_expect_leq(strcspn(line, "\r"), 31, "%s", line);
	}
}

Test(terminal, none_when_quiet_or_dumb)
{
	struct terminal terminal = terminal_start(FAKE("--quiet", "--", "/bin/sleep", "0.6"), 80);

	cr_expect_eq(terminal_finish(&terminal), 0);
	cr_expect_str_empty(terminal.text);
	setenv("TERM", "dumb", 1);
	terminal = terminal_start(FAKE("--fake-lost=1", "--", "/bin/sleep", "0.6"), 80);
	cr_expect_eq(terminal_finish(&terminal), 120);
	cr_expect_null(strchr(terminal.text, '\033'), "%s", terminal.text);
}

Test(terminal, none_elsewhere)
{
	struct outcome outcome = host_run(FAKE("--fake-lost=1", "--fake-steps=4", "--", "/bin/sleep", "0.6"));

	cr_expect_null(strpbrk(outcome.err, "\033\r"), "%s", outcome.err);
	cr_expect_not_null(strstr(host_read(host_profile_file("calls.txt")), "live=0"));
}

Test(terminal, progress_of_the_finishing)
{
	struct terminal terminal = terminal_start(FAKE("--fake-steps=10", "--", "/bin/true"), 80);

	cr_expect_eq(terminal_finish(&terminal), 0);
	cr_expect_not_null(strstr(terminal.text, "[##########          ]  50 % fake work")
	                           ?: strstr(terminal.text, "[########            ]  40 % fake work"),
	        "%s", terminal.text);
}

/* Types while the runner is stopped: by the time that it takes its signal, the command has handled its own,
 * so that a second one would count. */
static void type_while_stopped(struct terminal *terminal, const char *keys)
{
	cr_assert_eq(kill(terminal->pid, SIGSTOP), 0);
	host_sleep_ms(50);
	terminal_type(terminal, keys);
	host_sleep_ms(100);
	cr_assert_eq(kill(terminal->pid, SIGCONT), 0);
}

Test(terminal, narrow_progress)
{
	struct terminal terminal = terminal_start(FAKE("--fake-steps=10", "--", "/bin/true"), 31);

	cr_expect_eq(terminal_finish(&terminal), 0);
	cr_expect(strstr(terminal.text, " % f\r") || strstr(terminal.text, " % f\033"), "%s", terminal.text);
}

/* The kernel sends it to the whole foreground group. */
Test(terminal, interrupt_key_reaches_the_command_once)
{
	char *path = host_path("counts");
	struct terminal terminal = terminal_start(FAKE("--", host_program("catch"), path), 80);

	host_await(path, "ready");
	type_while_stopped(&terminal, "\003");
	cr_expect_eq(terminal_finish(&terminal), 0);
	cr_expect_not_null(strstr(host_read(path), "INT=1 TERM=0 HUP=0 QUIT=0"), "%s", host_read(path));
}

Test(terminal, quit_key_reaches_the_command_once)
{
	char *path = host_path("counts");
	struct terminal terminal = terminal_start(FAKE("--", host_program("catch"), path), 80);

	host_await(path, "ready");
	type_while_stopped(&terminal, "\034");
	cr_expect_eq(terminal_finish(&terminal), 0);
	cr_expect_not_null(strstr(host_read(path), "INT=0 TERM=0 HUP=0 QUIT=1"), "%s", host_read(path));
}

/* A command that left the group would have been reached without the runner, being the group's leader then. */
Test(terminal, interrupt_key_with_a_command_in_another_group)
{
	char *path = host_path("counts");
	struct terminal terminal = terminal_start(FAKE("--", host_program("catch"), path, "group"), 80);

	host_await(path, "ready");
	terminal_type(&terminal, "\003");
	cr_expect_eq(terminal_finish(&terminal), 0);
	cr_expect_not_null(strstr(host_read(path), "INT=1 "), "%s", host_read(path));
}

/* Only the leader of the session is told: that is the runner here. */
Test(terminal, hang_up)
{
	char *path = host_path("counts");
	struct terminal terminal = terminal_start(FAKE("--", host_program("catch"), path), 80);

	host_await(path, "ready");
	terminal_hang_up(&terminal);
	cr_expect_eq(terminal_finish(&terminal), 0);
	cr_expect_not_null(strstr(host_read(path), "INT=0 TERM=0 HUP=1 QUIT=0"), "%s", host_read(path));
	cr_expect_not_null(strstr(host_read(host_profile_file("calls.txt")), "close\n"));
}

/* Job control: the runner and the command stop together, and go on together. */
Test(terminal, stop_key)
{
	struct terminal terminal = terminal_start(
	        COMMAND("/bin/bash", "-mc", "\"$@\"; echo stopped=$?; fg >/dev/null; echo status=$?", "bash",
	                host_runner(), "--plugin-dir", host_programs(), "--instrument", "fake", "--",
	                "/bin/sh", "-c", "echo running; sleep 1; exit 9"),
	        80);

	terminal_await(&terminal, "running");
	terminal_type(&terminal, "\032");
	terminal_await(&terminal, "stopped=148");
	terminal_await(&terminal, "status=9");
	terminal_finish(&terminal);
}

/* Writing would stop it there, and the instrument with it. */
Test(terminal, no_live_line_from_the_background)
{
	struct terminal terminal =
	        terminal_start(COMMAND("/bin/bash", "-mc",
	                               "stty tostop; \"$@\" & sleep 1; jobs; fg >/dev/null; echo status=$?",
	                               "bash", host_runner(), "--plugin-dir", host_programs(), "--instrument",
	                               "fake", "--", "/bin/sh", "-c", "sleep 1.6; exit 9"),
	                80);

	terminal_await(&terminal, "status=9");
	terminal_finish(&terminal);
	cr_expect_not_null(strstr(terminal.text, "Running"), "%s", terminal.text);
	cr_expect_null(strstr(terminal.text, "Stopped"), "%s", terminal.text);
}
