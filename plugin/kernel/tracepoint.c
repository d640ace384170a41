/* tracepoint.c: a tracepoint's number comes from tracefs. */
#include "kernel/tracepoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"

/* A tracefs of our own that appears in no mount table. */
static int open_private_tracefs(void)
{
	CLEANUP_CLOSE int context = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int mount;

	if (context < 0)
		return -errno;
	if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	mount = syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	return mount < 0 ? -errno : mount;
}

static int open_tracefs(void)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

	for (unsigned i = 0; i < N_ELEMENTS(places); i++) {
		CLEANUP_CLOSE int fd = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0 && faccessat(fd, "events/syscalls", F_OK, 0) == 0)
			return steal_fd(&fd);
	}
	return open_private_tracefs();
}

static int tracepoint_id(const char *name)
{
	CLEANUP_CLOSE int root = open_tracefs(), fd = -1;
	char path[128], text[32] = "";

	if (root < 0)
		return root;
	snprintf(path, sizeof(path), "events/syscalls/%s/id", name);
	fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		return -EIO;
	return atoi(text);
}

int tracepoint_open_syscall(const char *name)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.wakeup_events = 1,
	};
	int id = tracepoint_id(name), fd;

	if (id < 0)
		return id;
	attr.config = id;
	/* One event is enough: a program on a tracepoint runs on every CPU. */
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
