/* guardian.c: see guardian.h. */
#include "track/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "track/listener.h"
#include "util/cleanup.h"

#define SOCKET_FD 3

/* How long guardian_release waits for an end that is due at once. */
#define RELEASE_WAIT_MS 200

static int send_descriptor(int socket, int fd)
{
	char byte = 'L';
	struct iovec data = {.iov_base = &byte, .iov_len = 1};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The descriptor that arrives, or -1 when the other side is gone. */
static int receive_descriptor(int socket)
{
	char byte;
	struct iovec data = {.iov_base = &byte, .iov_len = 1};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;
	ssize_t n;
	int fd;

	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (!header || header->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(int));
	return fd;
}

/* Blocks until the runner's end of the socket is closed, by its exit or by its death. */
static void wait_for_end(int socket)
{
	char byte;
	ssize_t n;

	do
		n = recv(socket, &byte, 1, 0);
	while (n > 0 || (n < 0 && errno == EINTR));
}

/* Lets everything go on until the last process under the filter is gone. */
static void answer_all(int listener)
{
	struct seccomp_notif notification;

	for (;;) {
		struct pollfd ready = {.fd = listener, .events = POLLIN};

		if (poll(&ready, 1, -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (ready.revents & POLLIN) {
			if (listener_receive(listener, &notification) == 0)
				listener_continue(listener, notification.id);
		} else if (ready.revents & (POLLHUP | POLLERR | POLLNVAL)) {
			return;
		}
	}
}

static void ignore_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU,
		SIGUSR1, SIGUSR2};

	for (unsigned i = 0; i < N_ELEMENTS(signals); i++)
		signal(signals[i], SIG_IGN);
}

/* Nobody may wait for the end of a pipe because of this process. */
static int drop_descriptors(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	for (int fd = 0; fd < SOCKET_FD; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	if (socket != SOCKET_FD && dup2(socket, SOCKET_FD) < 0)
		return -errno;
	return close_range(SOCKET_FD + 1, ~0u, 0) ? -errno : 0;
}

__attribute__((noreturn)) static void guard(int socket, const struct seccomp_notif *taken)
{
	int listener;

	setpgid(0, 0);
	ignore_signals();
	prctl(PR_SET_NAME, "memstacks-guard");
	if (chdir("/") || drop_descriptors(socket))
		_exit(1);
	listener = receive_descriptor(SOCKET_FD);
	wait_for_end(SOCKET_FD);
	if (listener >= 0) {
		if (taken->id)
			listener_continue(listener, taken->id);
		answer_all(listener);
	}
	_exit(0);
}

int guardian_start(struct guardian *ret_guardian)
{
	struct guardian guardian = {};
	int ends[2];

	guardian.taken = mmap(NULL, sizeof(*guardian.taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (guardian.taken == MAP_FAILED)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		int r = -errno;

		munmap(guardian.taken, sizeof(*guardian.taken));
		return r;
	}
	guardian.pid = fork();
	if (guardian.pid == 0) {
		close(ends[0]);
		guard(ends[1], guardian.taken);
	}
	close(ends[1]);
	guardian.socket = ends[0];
	if (guardian.pid < 0) {
		int r = -errno;

		close(guardian.socket);
		munmap(guardian.taken, sizeof(*guardian.taken));
		return r;
	}
	*ret_guardian = guardian;
	return 0;
}

int guardian_watch(struct guardian *guardian, int listener)
{
	return send_descriptor(guardian->socket, listener);
}

void guardian_release(struct guardian *guardian, bool is_over)
{
	if (guardian->pid <= 0)
		return;
	close(guardian->socket);
	for (int waited = 0; is_over && waited < RELEASE_WAIT_MS; waited++) {
		struct timespec pause = {.tv_nsec = 1000000};

		if (waitpid(guardian->pid, NULL, WNOHANG) != 0)
			break;
		nanosleep(&pause, NULL);
	}
	munmap(guardian->taken, sizeof(*guardian->taken));
	*guardian = (struct guardian){};
}

