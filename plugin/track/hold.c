/* hold.c: notifications to classifications. */
#include "track/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "track/image.h"
#include "track/listener.h"
#include "util/cleanup.h"

/* How long a process is held at most. A file may lie on a file system whose server is itself held, or has died. */
#define MAX_HOLD_SECONDS 10

struct hold {
	pthread_t thread, watchdog;
	time_t busy_since; /* atomic; 0: nothing is being classified */
	bool stopping;     /* atomic */
	int listener;
	int wake; /* eventfd: end the threads */
	struct guardian *guardian;
	struct programs *programs;
	struct files *files;
	struct untraced *untraced;
	const struct log_sink *log;
};

/* Opens for reading what a process has open as `fd`, and finds its path. */
static int open_descriptor(uint32_t pid, int fd, char *path, size_t n_path)
{
	char name[64];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%u/fd/%d", pid, fd);
	n = readlink(name, path, n_path - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	path_strip_deleted(path);
	return open_regular_file(name);
}

/* The file of an mmap that waits to be carried out. */
static void classify_mapped(struct hold *hold, const struct seccomp_notif *notification)
{
	char path[4096] = "";
	uint32_t pid = notification->pid;
	int fd = open_descriptor(pid, notification->data.args[4], path, sizeof(path));

	if (fd == -ENOTSUP || fd == -EBADF || fd == -ENOENT)
		return; /* not a file, or the call will fail */
	if (fd < 0) {
		files_add_unopened(hold->files, path[0] ? path : "[a file that is mapped for execution]", pid, 0, 0, fd);
		return;
	}
	if (listener_is_valid(hold->listener, notification->id)) {
		close(fd);
		return;
	}
	files_add(hold->files, fd, path, pid, false);
}

static void handle(struct hold *hold, const struct seccomp_notif *notification)
{
	struct executed executed;

	if (!notification->pid)
		return; /* in a PID namespace that the runner cannot see into */
	/* The first notification after an exec comes from the only thread of the new program. */
	if (programs_take_executed(hold->programs, notification->pid, &executed))
		image_add(hold->programs, hold->files, hold->log, notification->pid, &executed);
	if (notification->data.nr == SYS_mmap)
		classify_mapped(hold, notification);
}

static time_t now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Lets the calls go on that the other thread does not come to. */
static void answer_for_it(struct hold *hold)
{
	struct seccomp_notif notification;
	struct pollfd ready = {.fd = hold->listener, .events = POLLIN};

	untraced_add(hold->untraced, "[held too long]", hold->guardian->taken->pid,
		"its code could not be looked at in time; what it maps may not be seen");
	listener_continue(hold->listener, hold->guardian->taken->id);
	while (__atomic_load_n(&hold->busy_since, __ATOMIC_ACQUIRE) && !__atomic_load_n(&hold->stopping, __ATOMIC_ACQUIRE)) {
		if (poll(&ready, 1, 100) <= 0 || !(ready.revents & POLLIN))
			continue;
		if (listener_receive(hold->listener, &notification))
			continue;
		untraced_add(hold->untraced, "[not looked at]", notification.pid, "it mapped code while nobody could look");
		listener_continue(hold->listener, notification.id);
	}
}

static void *watch(void *argument)
{
	struct hold *hold = argument;

	while (!__atomic_load_n(&hold->stopping, __ATOMIC_ACQUIRE)) {
		struct pollfd woken = {.fd = hold->wake, .events = POLLIN};
		time_t since = __atomic_load_n(&hold->busy_since, __ATOMIC_ACQUIRE);

		if (since && now_seconds() - since > MAX_HOLD_SECONDS)
			answer_for_it(hold);
		poll(&woken, 1, 100);
	}
	return NULL;
}

static void *run(void *argument)
{
	struct hold *hold = argument;
	struct seccomp_notif *taken = hold->guardian->taken;

	for (;;) {
		struct pollfd ready[] = {
			{.fd = hold->listener, .events = POLLIN},
			{.fd = hold->wake, .events = POLLIN},
		};

		if (poll(ready, N_ELEMENTS(ready), -1) < 0 && errno != EINTR)
			break;
		if (ready[1].revents)
			break;
		if (ready[0].revents & POLLIN) {
			if (listener_receive(hold->listener, taken)) {
				struct timespec pause = {.tv_nsec = 1000000};

				nanosleep(&pause, NULL); /* whatever it is, it must not become a busy loop */
				continue;
			}
			__atomic_store_n(&hold->busy_since, now_seconds(), __ATOMIC_RELEASE);
			handle(hold, taken);
			__atomic_store_n(&hold->busy_since, 0, __ATOMIC_RELEASE);
			listener_continue(hold->listener, taken->id);
			taken->id = 0;
		} else if (ready[0].revents) {
			break; /* no process under the filter is left */
		}
	}
	return NULL;
}

/* Nobody reads it: both threads see it. */
static void wake_threads(struct hold *hold)
{
	uint64_t one = 1;
	ssize_t n = write(hold->wake, &one, sizeof(one));

	(void)n; /* an eventfd takes it */
}

static void end_thread(struct hold *hold)
{
	wake_threads(hold);
	pthread_join(hold->thread, NULL);
}

int hold_start(int listener, struct guardian *guardian, struct programs *programs, struct files *files,
	struct untraced *untraced, const struct log_sink *log, struct hold **ret_hold)
{
	struct hold *hold = calloc(1, sizeof(*hold));
	int r;

	if (!hold) {
		close(listener);
		return -ENOMEM;
	}
	*hold = (struct hold){
		.listener = listener,
		.wake = eventfd(0, EFD_CLOEXEC),
		.guardian = guardian,
		.programs = programs,
		.files = files,
		.untraced = untraced,
		.log = log,
	};
	r = hold->wake < 0 ? -errno : -pthread_create(&hold->thread, NULL, run, hold);
	if (!r) {
		r = -pthread_create(&hold->watchdog, NULL, watch, hold);
		if (r)
			end_thread(hold);
	}
	if (r) {
		if (hold->wake >= 0)
			close(hold->wake);
		close(listener);
		free(hold);
		return r;
	}
	*ret_hold = hold;
	return 0;
}

bool hold_is_over(const struct hold *hold)
{
	struct pollfd listener = {.fd = hold ? hold->listener : -1};

	return poll(&listener, 1, 0) == 1 && listener.revents & POLLHUP;
}

struct hold *hold_stop(struct hold *hold)
{
	struct timespec until;

	if (!hold)
		return NULL;
	__atomic_store_n(&hold->stopping, true, __ATOMIC_RELEASE);
	wake_threads(hold);
	pthread_join(hold->watchdog, NULL);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += MAX_HOLD_SECONDS;
	/* Stuck in a file that never opens: it keeps what it uses, and the process ends soon. */
	if (pthread_timedjoin_np(hold->thread, NULL, &until)) {
		log_error(hold->log, "a file of the benchmark could not be opened or read in %d s; left alone",
			MAX_HOLD_SECONDS);
		return NULL;
	}
	close(hold->wake);
	close(hold->listener);
	free(hold);
	return NULL;
}
