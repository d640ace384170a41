/* host.c: runs the real runner for a test. */
#include "support/host.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS       60000
#define AWAIT_TIMEOUT_MS 20000
#define STEP_MS          5

static char directory[PATH_MAX];
static unsigned n_jobs;

void host_init(void)
{
	const char *parent = getenv("TMPDIR") ?: "/tmp";

	snprintf(directory, sizeof(directory), "%s/runner-test.XXXXXX", parent);
	cr_assert_not_null(mkdtemp(directory), "mkdtemp: %s", strerror(errno));
	setenv("TMPDIR", directory, 1);
	/* What whoever runs the tests has set must not change what is tested. */
	for (char **variable = environ; *variable;) {
		char name[128];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*variable, "="), *variable);
		if (!strncmp(name, "RUNNER_", 7) || !strncmp(name, "SUDO_", 5) || !strcmp(name, "NO_COLOR")) {
			unsetenv(name);
			variable = environ;
		} else {
			variable++;
		}
	}
	/* One runner at a time can listen to integrations, and tests run side by side. */
	setenv("RUNNER_NO_INTEGRATIONS", "1", 1);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

void host_deinit(void)
{
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *host_runner(void)
{
	const char *path = getenv("HOST_RUNNER");

	cr_assert_not_null(path, "HOST_RUNNER is not set");
	return path;
}

const char *host_programs(void)
{
	const char *path = getenv("HOST_PROGRAMS");

	cr_assert_not_null(path, "HOST_PROGRAMS is not set");
	return path;
}

char *host_path(const char *format, ...)
{
	char name[PATH_MAX];
	char *path;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	cr_assert(asprintf(&path, "%s/%s", directory, name) >= 0);
	return path;
}

char *host_program(const char *name)
{
	char *path;

	cr_assert(asprintf(&path, "%s/%s", host_programs(), name) >= 0);
	return path;
}

static void redirect(const char *path, int to)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || dup2(fd, to) < 0)
		_exit(99);
	if (fd != to)
		close(fd);
}

struct job host_start(const char *const *argv, void (*prepare)(void *context), void *context)
{
	struct job job = {
	        .out_path = host_path("stdout.%u", n_jobs), .err_path = host_path("stderr.%u", n_jobs)};

	n_jobs++;
	job.pid = fork();
	cr_assert_geq(job.pid, 0);
	if (job.pid == 0) {
		redirect(job.out_path, STDOUT_FILENO);
		redirect(job.err_path, STDERR_FILENO);
		if (prepare)
			prepare(context);
		execv(argv[0], (char *const *)argv);
		_exit(98);
	}
	return job;
}

struct outcome host_finish(struct job job)
{
	struct outcome outcome = {0};
	pid_t pid = 0;

	for (int ms = 0; ms < TIMEOUT_MS && pid == 0; ms += STEP_MS) {
		pid = waitpid(job.pid, &outcome.wait_status, WNOHANG);
		if (pid == 0)
			host_sleep_ms(STEP_MS);
	}
	if (pid == 0)
		kill(job.pid, SIGKILL);
	cr_assert_eq(pid, job.pid, "it does not end");
	outcome.out = host_read(job.out_path);
	outcome.err = host_read(job.err_path);
	cr_assert(outcome.out && outcome.err);
	outcome.status = WIFSIGNALED(outcome.wait_status) ? 128 + WTERMSIG(outcome.wait_status)
	                                                  : WEXITSTATUS(outcome.wait_status);
	return outcome;
}

struct outcome host_run_prepared(const char *const *argv, void (*prepare)(void *context), void *context)
{
	return host_finish(host_start(argv, prepare, context));
}

struct outcome host_run(const char *const *argv)
{
	return host_run_prepared(argv, NULL, NULL);
}

char *host_read(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t length = 0;
	size_t size = 0;

	if (!file)
		return NULL;
	do {
		size = size * 2 + 4096;
		text = realloc(text, size + 1);
		cr_assert_not_null(text);
		length += fread(text + length, 1, size - length, file);
	} while (length == size);
	fclose(file);
	text[length] = '\0';
	return text;
}

void host_write(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "we");

	cr_assert_not_null(file, "%s: %s", path, strerror(errno));
	fputs(text, file);
	cr_assert_eq(fchmod(fileno(file), mode), 0);
	cr_assert_eq(fclose(file), 0);
}

void host_copy(const char *from, const char *to, mode_t mode)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char part[65536];
	ssize_t n;

	cr_assert(in >= 0 && out >= 0, "%s to %s: %s", from, to, strerror(errno));
	while ((n = read(in, part, sizeof(part))) > 0)
		cr_assert_eq(write(out, part, (size_t)n), n);
	cr_assert_eq(n, 0);
	cr_assert_eq(fchmod(out, mode), 0);
	close(in);
	close(out);
}

void host_await(const char *path, const char *text)
{
	for (int ms = 0; ms < AWAIT_TIMEOUT_MS; ms += STEP_MS) {
		char *content = host_read(path);
		bool found = content && strstr(content, text);

		free(content);
		if (found)
			return;
		host_sleep_ms(STEP_MS);
	}
	cr_assert_fail("there is no '%s' in %s", text, path);
}

char *host_profile(void)
{
	char *pattern = host_path("profile.??????????.out");
	glob_t found;

	if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc != 1)
		return NULL;
	return strdup(found.gl_pathv[0]);
}

char *host_profile_file(const char *name)
{
	char *profile = host_profile();
	char *path;

	cr_assert_not_null(profile, "there is not exactly one profile folder");
	cr_assert(asprintf(&path, "%s/%s", profile, name) >= 0);
	return path;
}

size_t host_n_lines(const char *text)
{
	size_t n_lines = 0;

	for (; *text; text++)
		n_lines += *text == '\n';
	return n_lines;
}

bool host_grants_rights(void)
{
	struct statvfs system;

	return statvfs(directory, &system) == 0 && !(system.f_flag & ST_NOSUID);
}

void host_sleep_ms(unsigned ms)
{
	struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

void host_need_root(void)
{
	if (geteuid() != 0)
		cr_skip_test("this test needs root");
}
