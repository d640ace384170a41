/* test_program.c: memstacks as people and scripts run it. */
#include <criterion/criterion.h>
#include <json.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "maker.h"
#include "run.h"

/* 300 bytes by f, of which 100 are freed; 50 by g. */
static struct maker make_profile(const char *more)
{
	struct maker maker = maker_new(NULL);

	maker_define_functions(&maker, 1, "malloc;f(int);main");
	maker_define_functions(&maker, 2, "malloc;\x1b[31mg\n;main");
	maker_malloc(&maker, 1, 1000, 0x10, 100, 1);
	maker_malloc(&maker, 1, 2000, 0x20, 200, 1);
	maker_malloc(&maker, 2, 3000, 0x30, 50, 2);
	maker_free_block(&maker, 1, 4000, 0x10);
	maker_finish_whole(&maker, more);
	return maker;
}

static int status_of(const char *arguments)
{
	int status;

	free(run(&status, "'%s' %s > /dev/null 2>&1", run_memstacks(), arguments));
	return status;
}

static int status_with(const char *before, const struct maker *maker, const char *after)
{
	char arguments[1000];

	snprintf(arguments, sizeof(arguments), "%s '%s' %s", before, maker->path, after);
	return status_of(arguments);
}

Test(program, exit_statuses)
{
	struct maker whole = make_profile(NULL), lossy = make_profile(", \"lost\": {\"ring full\": 1}");
	char other[300];

	snprintf(other, sizeof(other), "'%s'", whole.path);
	cr_assert_eq(status_with("report", &whole, ""), 0);
	cr_assert_eq(status_with("unresolved", &whole, ""), 0);
	cr_assert_eq(status_with("report", &lossy, ""), 4);
	cr_assert_eq(status_with("export --folded", &lossy, ""), 4);
	cr_assert_eq(status_with("diff", &whole, other), 0);
	cr_assert_eq(status_with("diff --fail-on 'peak>+0'", &whole, other), 0);
	cr_assert_eq(status_with("diff --fail-on 'peak>349'", &whole, other), 122);
	cr_assert_eq(status_with("diff --fail-on 'peak>349'", &lossy, other), 122);
	cr_assert_eq(status_with("diff --fail-on 'peak>350'", &lossy, other), 4);
	cr_assert_eq(status_with("diff --fail-on 'peak@h>0'", &whole, other), 2);
	cr_assert_eq(status_with("diff --fail-on 'peak@h>0' --fail-on 'peak>0'", &whole, other), 122);
	cr_assert_eq(status_with("report --benchmark none", &whole, ""), 2);
	cr_assert_eq(status_of("report /nonexistent"), 3);
	cr_assert_eq(status_of("report /tmp"), 3);
	cr_assert_eq(status_with("export --folded", &whole, "-o /nonexistent/x"), 5);
	cr_assert_eq(status_with("export --folded", &whole, "-o /dev/full"), 5);
	cr_assert_eq(status_with("export --html", &whole, "-o /tmp"), 5);
	maker_remove(&whole);
	maker_remove(&lossy);
}

Test(program, usage)
{
	static const char *const bad[] = {"", "repport x", "report", "report a b", "report --frob x",
	        "report --top x x", "report --top -1 x", "report --top", "export x",
	        "export --folded --html x", "export --metric peak --html x",
	        "export --folded --metric peek x", "diff x", "diff --fail-on peak x y",
	        "report --color sometimes x", "report --folded x", "unresolved --top 3 x",
	        "report --top 4294967296 x", "--frob"};
	static const char *const commands[] = {"", "report", "export", "diff", "unresolved"};
	char *text;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(status_of(bad[i]), 2, "%s", bad[i]);
	for (size_t i = 0; i < 5; i++) {
		text = run_well("'%s' %s --help 2>&1", run_memstacks(), commands[i]);
		cr_assert_eq(strncmp(text, "Usage: memstacks ", 17), 0);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			cr_assert_leq(strlen(line), 84, "%s", line);
		free(text);
	}
	text = run_well("'%s' --version", run_memstacks());
	cr_assert_eq(strncmp(text, "memstacks ", 10), 0);
	free(text);
	cr_assert_eq(status_of("--help > /dev/full"), 0); /* the redirection of status_of comes later */
}

static bool has(const char *text, const char *part)
{
	if (strstr(text, part))
		return true;
	fprintf(stderr, "no «%s» in:\n%s\n", part, text);
	return false;
}

Test(program, report)
{
	struct maker maker = make_profile(NULL);
	char *text = run_well("'%s' report --by-process '%s' 2>&1", run_memstacks(), maker.path);

	cr_assert(has(text, "a whole recording"));
	cr_assert(has(text, "3 allocations of 350 B (350 bytes)"));
	cr_assert(has(text, "350 B (350 bytes) live in 3 blocks, 2.0 µs after the start"));
	cr_assert(has(text, "250 B in 2 blocks never freed"));
	cr_assert(has(text, "1  one             2  300 B"));
	cr_assert(has(text, "     300 B   85.7 %  call path #1"));
	cr_assert(has(text, "f(int)  program"));
	cr_assert(has(text, "\\x1b[31mg")); /* nothing reaches the terminal that it would act on */
	cr_assert_null(strchr(text, '\033'));
	cr_assert(has(text, "own peak of process 2 (two)"));
	free(text);
	/* As long as asked for. */
	text = run_well("'%s' report --top 1 --depth 1 '%s' 2>&1", run_memstacks(), maker.path);
	cr_assert(has(text, "… 1 more call paths"));
	cr_assert(has(text, "… 2 more frames"));
	cr_assert_null(strstr(text, "f(int)"));
	free(text);
	maker_remove(&maker);
}

Test(program, partial_is_said)
{
	struct maker maker = make_profile(", \"lost\": {\"ring full\": 12}");
	int status;
	char *text = run(&status, "'%s' report '%s' 2>/dev/null", run_memstacks(), maker.path);

	cr_assert(has(text, "PARTIAL"));
	cr_assert(has(text, "12 events were lost while recording"));
	cr_assert(has(text, "lost: ring full 12"));
	free(text);
	text = run(&status, "'%s' export --folded '%s' 2>&1 >/dev/null", run_memstacks(), maker.path);
	cr_assert(has(text, "partial recording"));
	free(text);
	text = run(&status, "'%s' report --json '%s' 2>/dev/null", run_memstacks(), maker.path);
	cr_assert(has(text, "\"partial\": true"));
	free(text);
	maker_remove(&maker);
}

static json_object *member(json_object *object, const char *key)
{
	json_object *value;

	cr_assert(json_object_object_get_ex(object, key, &value), "no %s", key);
	return value;
}

Test(program, json)
{
	struct maker maker = make_profile(NULL);
	char *text = run_well("'%s' report --json --top 0 '%s'", run_memstacks(), maker.path);
	json_object *root = json_tokener_parse(text), *paths;

	cr_assert(root, "%s", text);
	cr_assert_eq(json_object_get_int64(member(member(root, "sum"), "peak")), 350);
	cr_assert_eq(json_object_get_int64(member(member(root, "sum"), "leak-count")), 2);
	cr_assert_eq(json_object_array_length(member(root, "processes")), 2);
	paths = member(root, "call-paths");
	cr_assert_eq(json_object_array_length(paths), 2);
	cr_assert_eq(json_object_get_int64(member(json_object_array_get_idx(paths, 0), "leak")), 200);
	json_object_put(root);
	free(text);
	text = run_well("'%s' unresolved --json '%s'", run_memstacks(), maker.path);
	root = json_tokener_parse(text);
	cr_assert_eq(json_object_get_int64(member(root, "whole")), 3);
	json_object_put(root);
	free(text);
	text = run_well("'%s' diff --json '%s' '%s'", run_memstacks(), maker.path, maker.path);
	root = json_tokener_parse(text);
	cr_assert_eq(json_object_get_int64(member(member(member(root, "sum"), "peak"), "new")), 350);
	json_object_put(root);
	free(text);
	maker_remove(&maker);
}

/* The same input gives the same bytes. */
Test(program, output_is_reproducible)
{
	static const char *const commands[] = {"report", "report --json", "unresolved", "export --folded",
	        "export --pprof", "export --speedscope", "export --dhat", "export --html"};
	struct maker maker = make_profile(NULL);

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char *first = run_well("'%s' %s '%s' | sha256sum", run_memstacks(), commands[i], maker.path);
		char *second = run_well("'%s' %s '%s' | sha256sum", run_memstacks(), commands[i], maker.path);

		cr_assert_str_eq(first, second, "%s", commands[i]);
		free(first);
		free(second);
	}
	maker_remove(&maker);
}

/* An old file stays until the new one is complete; links are followed, modes kept, nothing else is left. */
Test(program, output_files)
{
	struct maker maker = make_profile(NULL);
	char *text;

	free(run_well("cd '%s' && mkdir d && echo old > d/real && chmod 640 d/real && ln -s real d/link && "
	              "'%s' export --folded . -o d/link",
	        maker.path, run_memstacks()));
	text = run_well(
	        "cd '%s/d' && ls -A && stat -c %%a real && readlink link && wc -l < real", maker.path);
	cr_assert_str_eq(text, "link\nreal\n640\nreal\n2\n");
	free(text);
	text = run_well(
	        "cd '%s' && '%s' export --folded . -o /dev/stdout | wc -l", maker.path, run_memstacks());
	cr_assert_str_eq(text, "2\n");
	free(text);
	text = run_well("cd '%s' && '%s' export --folded . -o - | wc -l", maker.path, run_memstacks());
	cr_assert_str_eq(text, "2\n");
	free(text);
	maker_remove(&maker);
}

/* A profile that takes a while. */
static struct maker make_slow(void)
{
	struct maker maker = maker_new(NULL);

	maker_define_functions(&maker, 1, "malloc;f;main");
	for (uint64_t i = 0; i < 4000000; i++) {
		maker_malloc(&maker, 1, 1000 + i * 10, 0x10, 8, 1);
		maker_free_block(&maker, 1, 1005 + i * 10, 0x10);
	}
	maker_finish_whole(&maker, NULL);
	return maker;
}

/* What a terminal gets from the program, which is sent `signal_number` once it has drawn something; 0: none.
 */
static char *on_terminal(char *const arguments[], int signal_number, int *ret_status)
{
	static char text[65536];
	size_t n = 0;
	ssize_t got;
	int fd;
	pid_t pid = forkpty(&fd, NULL, NULL, NULL);

	if (pid == 0) {
		unsetenv("NO_COLOR");
		setenv("TERM", "xterm", 1);
		execv(run_memstacks(), arguments);
		_exit(99);
	}
	while (n < sizeof(text) - 1 && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0) {
		n += (size_t)got;
		if (signal_number)
			kill(pid, signal_number);
		signal_number = 0;
	}
	text[n] = '\0';
	waitpid(pid, ret_status, 0);
	close(fd);
	return text;
}

Test(program, terminal_gets_a_bar_and_colours, .timeout = 120)
{
	struct maker maker = make_slow();
	char *arguments[] = {"memstacks", "report", maker.path, NULL};
	int status;
	char *text = on_terminal(arguments, 0, &status);

	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_assert(has(text, "\033[1mSummary\033[0m"));
	cr_assert(has(text, "replaying the heap [") || has(text, "reading call stacks ["));
	cr_assert(has(text, "\r\033[K\033[1mReport")); /* the bar is taken away before the report */
	maker_remove(&maker);
}

/* Interrupted: ends by the signal, and leaves no file. */
Test(program, interrupt_leaves_nothing, .timeout = 120)
{
	struct maker maker = make_slow();
	char target[300], *text;
	char *arguments[] = {"memstacks", "export", "--html", maker.path, "-o", target, NULL};
	int status;

	snprintf(target, sizeof(target), "%s/out.html", maker.path);
	on_terminal(arguments, SIGINT, &status);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT, "%x", (unsigned)status);
	text = run_well("cd '%s' && ls -A", maker.path);
	cr_assert_str_eq(text, "memory_metadata.json\nresults\n");
	free(text);
	maker_remove(&maker);
}
