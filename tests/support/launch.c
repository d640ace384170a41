/* launch.c: running commands in tests. */
#include "support/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "support/machine.h"
#include "support/memory.h"
#include "util/cleanup.h"

#define DEFAULT_TIMEOUT 120

static void run_child(const struct launch *launch, int out_fd, int err_fd)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	if (dup2(null, 0) < 0 || dup2(out_fd, 1) < 0 || dup2(err_fd, 2) < 0)
		_exit(125);
	if (launch->folder && chdir(launch->folder) != 0)
		_exit(125);
	for (size_t i = 0; launch->env && launch->env[i]; i++)
		putenv((char *)launch->env[i]);
	execvp(launch->argv[0], (char *const *)launch->argv);
	dprintf(2, "%s: %s\n", launch->argv[0], strerror(errno));
	_exit(127);
}

int launch_start(const struct launch *launch, struct running *ret_running)
{
	CLEANUP_CLOSE int out_fd = memfd_create("out", MFD_CLOEXEC);
	CLEANUP_CLOSE int err_fd = memfd_create("err", MFD_CLOEXEC);
	pid_t pid;

	if (out_fd < 0 || err_fd < 0)
		return -errno;
	/* Output is appended: several processes write to the same file. */
	fcntl(out_fd, F_SETFL, O_APPEND);
	fcntl(err_fd, F_SETFL, O_APPEND);
	/* Orphans of the command come to this process, where they can be found. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		run_child(launch, out_fd, err_fd);
	setpgid(pid, pid);
	*ret_running = (struct running){.pid = pid,
	        .out_fd = steal_fd(&out_fd),
	        .err_fd = steal_fd(&err_fd),
	        .timeout = launch->timeout ? launch->timeout : DEFAULT_TIMEOUT};
	return 0;
}

static char *read_all(int fd, size_t *ret_n)
{
	struct stat status = {0};
	char *text;
	ssize_t n;

	fstat(fd, &status);
	text = test_alloc(status.st_size + 1, 1);
	n = pread(fd, text, status.st_size, 0);
	*ret_n = n > 0 ? n : 0;
	text[*ret_n] = '\0';
	return text;
}

static bool ends_in_time(const struct running *running)
{
	CLEANUP_CLOSE int pidfd = syscall(SYS_pidfd_open, running->pid, 0);
	struct pollfd waited = {.fd = pidfd, .events = POLLIN};
	int result;

	do {
		result = poll(&waited, 1, running->timeout * 1000);
	} while (result < 0 && errno == EINTR);
	return result > 0;
}

bool launch_has_ended(const struct running *running)
{
	siginfo_t information = {0};

	return waitid(P_PID, running->pid, &information, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	       information.si_pid != 0;
}

int launch_finish(struct running *running, struct launch_result *ret_result)
{
	CLEANUP_CLOSE int out_fd = running->out_fd;
	CLEANUP_CLOSE int err_fd = running->err_fd;
	struct launch_result result = {0};
	int status;
	size_t n;

	if (!ends_in_time(running)) {
		result.timed_out = true;
		machine_end_descendants();
	}
	while (waitpid(running->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	result.out = read_all(out_fd, &result.n_out);
	result.err = read_all(err_fd, &n);
	*running = (struct running){.out_fd = -1, .err_fd = -1};
	*ret_result = result;
	return 0;
}

int launch_run(const struct launch *launch, struct launch_result *ret_result)
{
	struct running running;
	int result = launch_start(launch, &running);

	return result < 0 ? result : launch_finish(&running, ret_result);
}

void launch_result_deinit(struct launch_result *result)
{
	free(result->out);
	free(result->err);
	*result = (struct launch_result){0};
}
