/* test_transparent.c: the command gets what the caller set, and nothing of the runner's. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/host.h"

TestSuite(transparent, .init = host_init, .fini = host_deinit);

#define N_ARGUMENTS_MAX 32

/* The same process with and without the runner prints the same. `arguments`: of the dump. */
static void expect_same(
        const char *const *arguments, const char *fake_option, void (*prepare)(void *), void *context)
{
	const char *direct[N_ARGUMENTS_MAX] = {host_program("dump")};
	const char *const *prefix = FAKE(fake_option, "--", direct[0]);
	const char *through[N_ARGUMENTS_MAX] = {0};
	size_t n_prefix = 0;
	struct outcome plain, run;

	for (; prefix[n_prefix]; n_prefix++)
		through[n_prefix] = prefix[n_prefix];
	for (size_t i = 0; arguments && arguments[i]; i++)
		through[n_prefix + i] = direct[1 + i] = arguments[i];
	plain = host_run_prepared(direct, prepare, context);
	run = host_run_prepared(through, prepare, context);
	cr_assert_eq(plain.status, 0);
	cr_assert_not_null(strstr(plain.out, "status CapEff:"), "the dump is not complete");
	cr_expect_eq(run.status, 0, "%s", run.err);
	cr_expect_str_eq(run.out, plain.out);
}

Test(transparent, command_line)
{
	expect_same(COMMAND("", " ", "a b", "'", "\"", "$HOME", "`id`", "$(id)", "*", "?", "\\", ";", "|",
	                    "&", "a\nb", "-", "--", "--help", "--instrument", "\xff\xfe", "=", "#x"),
	        "--quiet", NULL, NULL);
}

Test(transparent, plain)
{
	expect_same(NULL, "--quiet", NULL, NULL);
}

static void lower_everything(void *context)
{
	struct rlimit limit;

	(void)context;
	/* What needs no right to change, and does not keep the runner from working. */
	for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
		if (i == RLIMIT_AS || i == RLIMIT_DATA || i == RLIMIT_NPROC || i == RLIMIT_CPU ||
		        i == RLIMIT_STACK || getrlimit(i, &limit) < 0)
			continue;
		limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? 1000000 : limit.rlim_max / 2;
		if (setrlimit(i, &limit) < 0)
			_exit(90);
	}
}

/* The instrument may need many descriptors, whatever the command may have. */
Test(transparent, instrument_has_all_descriptors)
{
	cr_assert_eq(
	        host_run_prepared(FAKE("--fake-rights", "--", "/bin/true"), lower_everything, NULL).status,
	        0);
	cr_expect_not_null(strstr(host_read(host_profile_file("calls.txt")), "all descriptors 1\n"));
}

Test(transparent, limits)
{
	expect_same(NULL, "--quiet", lower_everything, NULL);
}

static void change_signals(void *context)
{
	sigset_t mask;

	(void)context;
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGRTMIN + 3);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGRTMAX, SIG_IGN);
}

Test(transparent, signals_that_are_blocked_or_ignored)
{
	expect_same(NULL, "--quiet", change_signals, NULL);
}

static void block_all(void *context)
{
	sigset_t mask;

	(void)context;
	sigfillset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

Test(transparent, all_signals_blocked)
{
	expect_same(NULL, "--quiet", block_all, NULL);
}

static void change_umask(void *context)
{
	umask(*(mode_t *)context);
}

Test(transparent, umask)
{
	mode_t masks[] = {0, 0777, 0137};

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		expect_same(NULL, "--quiet", change_umask, &masks[i]);
}

static void change_directory(void *context)
{
	if (chdir(context) < 0)
		_exit(90);
}

/* Into one that is gone by the time. */
static void change_to_nowhere(void *context)
{
	if (mkdir(context, 0755) < 0 || chdir(context) < 0 || rmdir(context) < 0)
		_exit(90);
}

Test(transparent, working_directory)
{
	expect_same(NULL, "--quiet", change_directory, "/usr");
	expect_same(NULL, "--quiet", change_to_nowhere, host_path("nowhere"));
}

static void open_many(void *context)
{
	int fd = open("/dev/zero", O_RDONLY);
	unsigned n_more = *(unsigned *)context;

	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
		_exit(90);
	/* With holes, where descriptors of the runner could hide. */
	for (unsigned i = 0; i < n_more; i++)
		if (dup2(fd, (int)(10 + 2 * i)) < 0)
			_exit(91);
	close(fd);
}

Test(transparent, descriptors)
{
	unsigned counts[] = {1, 40, 400};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		expect_same(NULL, "--quiet", open_many, &counts[i]);
}

static void fill_soft_limit(void *context)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &limit);
	while (dup(STDIN_FILENO) >= 0)
		;
	/* The dynamic loader and the dump itself need a few. */
	for (int fd = 60; fd < 64; fd++)
		close(fd);
	(void)context;
}

Test(transparent, hardly_a_descriptor_left)
{
	expect_same(NULL, "--quiet", fill_soft_limit, NULL);
}

static void close_standard(void *context)
{
	const char *which = context;

	for (; *which; which++)
		close(*which - '0');
}

Test(transparent, closed_standard_descriptors)
{
	expect_same(NULL, "--quiet", close_standard, "0");
	expect_same(NULL, "--quiet", close_standard, "02");
}

/* What the runner says must not land in a file of its own when standard error is closed. */
Test(transparent, messages_with_closed_standard_error)
{
	struct outcome outcome =
	        host_run_prepared(FAKE("--fake-log=1:odd news", "--fake-lost=1", "-vv", "--", "/bin/true"),
	                close_standard, "012");

	cr_expect_eq(outcome.status, 120);
	cr_expect_null(strstr(host_read(host_profile_file("calls.txt")), "warning: odd news"));
	cr_expect_eq(*host_read(host_profile_file("summary.json")), '{');
}

/* The instrument leaves descriptors open, lowers limits, ignores signals. */
Test(transparent, careless_instrument)
{
	unsigned n_more = 10;

	expect_same(NULL, "--fake-leak", NULL, NULL);
	expect_same(NULL, "--fake-leak", open_many, &n_more);
	expect_same(NULL, "--fake-setup", NULL, NULL);
}

static void set_environment(void *context)
{
	static char *odd[] = {"NOVALUE", "=odd", "A=1", "A=2", "EMPTY=", "B=x=y\nz", "RUNNER_QUIET=1",
	        "RUNNER_NO_INTEGRATIONS=1", "LD_LIBRARY_PATH=/none", "X=\xff", NULL};
	char **all = calloc(64, sizeof(*all));
	size_t n_all = 0;

	(void)context;
	for (; odd[n_all]; n_all++)
		all[n_all] = odd[n_all];
	if (asprintf(&all[n_all], "TMPDIR=%s", getenv("TMPDIR")) < 0)
		_exit(90);
	environ = all;
}

Test(transparent, environment)
{
	expect_same(NULL, "--quiet", set_environment, NULL);
}

static void set_no_environment(void *context)
{
	(void)context;
	environ = NULL;
}

Test(transparent, no_environment)
{
	char *folder = host_path("profile");

	expect_same(NULL, "--quiet", NULL, NULL);
	cr_expect_str_empty(host_run_prepared(
	        FAKE("--quiet", "--no-integrations", "--profile-folder", folder, "--", "/usr/bin/env"),
	        set_no_environment, NULL)
	                            .out);
}

/* Standard output is the command's alone. */
Test(transparent, standard_output)
{
	cr_expect_str_eq(host_run(FAKE("-vv", "--", "/bin/echo", "just this")).out, "just this\n");
}

static void input_from(void *context)
{
	int fd = open(context, O_RDONLY);

	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		_exit(90);
	close(fd);
}

Test(transparent, standard_input)
{
	char *path = host_path("input");

	host_write(path, "first\nsecond\n", 0644);
	cr_expect_str_eq(host_run_prepared(FAKE("--", "/bin/cat"), input_from, path).out, "first\nsecond\n");
}
