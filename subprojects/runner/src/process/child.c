/* child.c: the process that becomes the benchmark. */
#include "process/child.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "status.h"
#include "util/cleanup.h"

/* What the child reports, in this order. */
enum step {
	STEP_SETUP, /* the plugin's child_setup; its descriptor comes with it */
	STEP_RESTORE,
	STEP_USER,
	STEP_READY,
	STEP_EXEC, /* only when it fails */
};

struct report {
	uint32_t step;
	int32_t error; /* errno, or 0 */
};

/* Room for one descriptor beside a report. */
union ancillary {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* In the child; async-signal-safe like everything it calls. fd: a descriptor to send along, or -1. */
static void report(int sock, enum step step, int error, int fd)
{
	struct report message = {.step = step, .error = error};
	struct iovec part = {.iov_base = &message, .iov_len = sizeof(message)};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	union ancillary ancillary = {0};

	if (fd >= 0) {
		header.msg_control = ancillary.room;
		header.msg_controllen = sizeof(ancillary.room);
		ancillary.header.cmsg_level = SOL_SOCKET;
		ancillary.header.cmsg_type = SCM_RIGHTS;
		ancillary.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ancillary.header), &fd, sizeof(fd));
	}
	/* A runner that does not hear it is dead, which the child notices when it waits for it. */
	while (sendmsg(sock, &header, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* Ends the child unless the step succeeded. */
static void check_step(int sock, enum step step, int error)
{
	if (error == 0)
		return;
	report(sock, step, -error, -1);
	_exit(EXIT_FAILURE);
}

static void set_up_for_plugin(const struct child_plan *plan, int sock)
{
	int fd = plan->api->child_setup ? plan->api->child_setup(plan->state) : RUNNER_NO_FD;

	if (fd < 0)
		check_step(sock, STEP_SETUP, fd);
	report(sock, STEP_SETUP, 0, fd == RUNNER_NO_FD ? -1 : fd);
	if (fd != RUNNER_NO_FD)
		close(fd);
}

__attribute__((noreturn)) static void become_benchmark(const struct child_plan *plan, int sock)
{
	char go;
	ssize_t n;

	set_up_for_plugin(plan, sock);
	check_step(sock, STEP_RESTORE, caller_restore(plan->caller, sock));
	check_step(sock, STEP_USER, identity_assume(plan->identity));
	report(sock, STEP_READY, 0, -1);
	do
		n = recv(sock, &go, 1, 0);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(EXIT_FAILURE);
	sigprocmask(SIG_SETMASK, &plan->caller->mask, NULL);
	execvpe(plan->argv[0], plan->argv, (char *const *)plan->environment->variables);
	report(sock, STEP_EXEC, errno, -1);
	_exit(EXIT_FAILURE);
}

/* 0: the child has gone. Takes the descriptor that came along into *fd if there is none yet. */
static ssize_t receive(int sock, int flags, struct report *ret_report, int *fd)
{
	struct iovec part = {.iov_base = ret_report, .iov_len = sizeof(*ret_report)};
	union ancillary ancillary = {0};
	struct msghdr header = {.msg_iov = &part,
	        .msg_iovlen = 1,
	        .msg_control = ancillary.room,
	        .msg_controllen = sizeof(ancillary.room)};
	struct cmsghdr *control;
	ssize_t n;

	do
		n = recvmsg(sock, &header, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	control = CMSG_FIRSTHDR(&header);
	if (control && control->cmsg_type == SCM_RIGHTS && control->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(control), sizeof(*fd));
	return n == sizeof(*ret_report) ? n : 0;
}

static const char *step_text(uint32_t step)
{
	switch (step) {
	case STEP_SETUP:
		return "the instrument cannot set it up";
	case STEP_RESTORE:
		return "cannot give it the caller's limits and descriptors";
	case STEP_USER:
		return "cannot become the user who called";
	default:
		return "it does not get ready";
	}
}

/* Waits until the child has reported STEP_READY. */
static int await_ready(struct child *child, struct console *console)
{
	struct report message;

	do {
		ssize_t n = receive(child->socket, 0, &message, &child->setup_fd);
		int error = n < 0 ? (int)-n : n == 0 ? ESRCH : message.error;

		if (error) {
			console_error(console, "cannot start the command: %s: %s",
			        step_text(n > 0 ? message.step : STEP_EXEC), strerror(error));
			return -error;
		}
	} while (message.step != STEP_READY);
	return 0;
}

int child_spawn(const struct child_plan *plan, struct console *console, struct child *ret_child)
{
	struct child child CLEANUP(child_deinit) = CHILD_NONE;
	int sockets[2];
	int error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
		error = errno;
		console_error(console, "cannot make a socket pair: %s", strerror(error));
		return -error;
	}
	child.socket = sockets[0];
	child.pid = fork();
	if (child.pid == 0) {
		close(sockets[0]);
		become_benchmark(plan, sockets[1]);
	}
	error = child.pid < 0 ? errno : 0;
	close(sockets[1]);
	if (!error) {
		child.pidfd = pidfd_open(child.pid, 0);
		error = child.pidfd < 0 ? errno : 0;
	}
	if (error) {
		console_error(console, "cannot start a process: %s", strerror(error));
		return -error;
	}
	error = await_ready(&child, console);
	if (error < 0)
		return error;
	*ret_child = child;
	child = CHILD_NONE;
	return 0;
}

void child_deinit(struct child *child)
{
	if (child->pid > 0 && !child->ended) {
		/* It is not reaped yet, so the number is still its own. */
		kill(child->pid, SIGKILL);
		child_reap(child);
	}
	cleanup_close(&child->setup_fd);
	cleanup_close(&child->socket);
	cleanup_close(&child->pidfd);
	*child = CHILD_NONE;
}

int child_release(struct child *child)
{
	return send(child->socket, "", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

void child_read_socket(struct child *child)
{
	struct report message;
	int fd CLEANUP_CLOSE = -1;
	ssize_t n;

	if (child->socket < 0)
		return;
	n = receive(child->socket, MSG_DONTWAIT, &message, &fd);
	if (n == -EAGAIN)
		return;
	if (n > 0)
		child->exec_error = message.error;
	close(steal_fd(&child->socket));
	/* Killed before it could execute looks the same as having executed, and is as good. */
	child->executed = child->exec_error == 0;
}

void child_reap(struct child *child)
{
	pid_t pid;

	do
		pid = waitpid(child->pid, &child->wait_status, 0);
	while (pid < 0 && errno == EINTR);
	if (pid < 0)
		child->wait_status = W_EXITCODE(STATUS_RUNNER, 0);
	child->ended = true;
}
