/* fifo.c: makes, takes over and removes the FIFOs. */
#include "pipes/fifo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner_plugin.h"
#include "util/cleanup.h"

#define OPEN_FIFO (O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
#define N_TRIES   100 /* each fails only when another runner starts or ends at that moment */

#define FIFO_NONE ((struct fifo){.fd = -1})

static int fail(struct console *console, const char *what, const char *path, int error)
{
	console_error(console, "cannot %s the pipe %s: %s (--no-integrations runs without it)", what, path,
	        strerror(error));
	return -error;
}

/* Closes it and forgets it; what stands at the path stays. */
static void fifo_close(struct fifo *fifo)
{
	cleanup_close(&fifo->fd);
	free(fifo->path);
	*fifo = FIFO_NONE;
}

static bool is_at(const struct fifo *fifo, const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && status.st_dev == fifo->device && status.st_ino == fifo->inode;
}

static void fifo_remove(struct fifo *fifo)
{
	if (fifo->fd >= 0 && is_at(fifo, fifo->path))
		unlink(fifo->path);
	fifo_close(fifo);
}

/* Opens what stands at the path, without waiting for or disturbing whoever uses it. */
static int open_existing(struct fifo *ret_fifo, const char *path)
{
	struct fifo fifo CLEANUP(fifo_close) = {.fd = open(path, OPEN_FIFO)};
	struct stat status;

	if (fifo.fd < 0 || fstat(fifo.fd, &status) < 0)
		return -errno;
	fifo.device = status.st_dev;
	fifo.inode = status.st_ino;
	*ret_fifo = fifo;
	fifo = FIFO_NONE;
	return 0;
}

/* Gives a new FIFO to the user. In a directory that is not sticky somebody may have put another one there. */
static int hand_over(const struct fifo *fifo, uid_t uid, gid_t gid)
{
	struct stat status;

	if (fstat(fifo->fd, &status) < 0)
		return -errno;
	if (!S_ISFIFO(status.st_mode) || status.st_uid != geteuid())
		return -EPERM;
	if (fchmod(fifo->fd, 0600) < 0)
		return -errno;
	if ((status.st_uid != uid || status.st_gid != gid) && fchown(fifo->fd, uid, gid) < 0)
		return -errno;
	return flock(fifo->fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

/* A complete FIFO under a name of its own beside `path`, which is its `path` for now. */
static int make_beside(struct fifo *ret_fifo, const char *path, uid_t uid, gid_t gid)
{
	char *name CLEANUP_FREE = NULL;
	struct fifo fifo CLEANUP(fifo_remove) = FIFO_NONE;
	uint64_t number;
	int error;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	if (asprintf(&name, "%s.%016llx", path, (unsigned long long)number) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	if (mkfifo(name, 0600) < 0)
		return -errno;
	error = open_existing(&fifo, name);
	if (error < 0) {
		unlink(name);
		return error;
	}
	fifo.path = STEAL_PTR(name);
	error = hand_over(&fifo, uid, gid);
	if (error < 0)
		return error;
	*ret_fifo = fifo;
	fifo = FIFO_NONE;
	return 0;
}

/* Locks what a dead runner left at the path. 1: it is locked and still there; 0: look again; -EBUSY: its
 * runner lives; -EEXIST: it is not the runner's. */
static int lock_stale(struct fifo *stale, const char *path, uid_t uid)
{
	struct stat status;
	int error = open_existing(stale, path);

	if (error == -ENOENT)
		return 0;
	/* A symbolic link, a socket, a file of somebody else. */
	if (error < 0 || fstat(stale->fd, &status) < 0)
		return -EEXIST;
	if (!S_ISFIFO(status.st_mode) || (status.st_uid != uid && status.st_uid != geteuid()))
		return -EEXIST;
	if (flock(stale->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return is_at(stale, path);
}

static int refuse(struct console *console, const char *path, int error)
{
	if (error == -EBUSY)
		console_error(console,
		        "another runner listens to integrations at %s: wait for it, or use --no-integrations",
		        path);
	else if (error == -EEXIST)
		console_error(console,
		        "%s is there and is no pipe of this user: remove it, or use --no-integrations", path);
	else
		return fail(console, "take over", path, -error);
	return error;
}

/* Puts a new FIFO at the path, in place of one that a dead runner left. */
static int put_in_place(struct fifo *fifo, const char *path, uid_t uid)
{
	for (int i = 0; i < N_TRIES; i++) {
		struct fifo stale CLEANUP(fifo_close) = FIFO_NONE;
		int is_mine;

		if (renameat2(AT_FDCWD, fifo->path, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
		is_mine = lock_stale(&stale, path, uid);
		if (is_mine < 0)
			return is_mine;
		/* Whoever replaces it holds its lock, so it is still there. */
		if (is_mine)
			return rename(fifo->path, path) < 0 ? -errno : 0;
	}
	return -EBUSY;
}

static int fifo_init(struct fifo *ret_fifo, const char *path, uid_t uid, gid_t gid, struct console *console)
{
	struct fifo fifo CLEANUP(fifo_remove) = FIFO_NONE;
	char *copy CLEANUP_FREE = strdup(path);
	int error;

	if (!copy)
		return -ENOMEM;
	error = make_beside(&fifo, path, uid, gid);
	if (error < 0)
		return fail(console, "make", path, -error);
	error = put_in_place(&fifo, path, uid);
	if (error < 0)
		return refuse(console, path, error);
	free(fifo.path);
	fifo.path = STEAL_PTR(copy);
	*ret_fifo = fifo;
	fifo = FIFO_NONE;
	return 0;
}

int fifo_pair_init(struct fifo_pair *ret_pair, const char *control_path, const char *answer_path, uid_t uid,
        gid_t gid, struct console *console)
{
	struct fifo_pair pair CLEANUP(fifo_pair_deinit) = FIFO_PAIR_NONE;
	int error = fifo_init(&pair.control, control_path, uid, gid, console);

	if (error == 0)
		error = fifo_init(&pair.answer, answer_path, uid, gid, console);
	if (error < 0)
		return error;
	*ret_pair = pair;
	pair = FIFO_PAIR_NONE;
	return 0;
}

void fifo_pair_deinit(struct fifo_pair *pair)
{
	/* The one with the lock goes last: until then nobody else makes an answer FIFO. */
	fifo_remove(&pair->answer);
	fifo_remove(&pair->control);
}

/* -errno: the process cannot be looked at, or is gone. */
static int has_open(int proc_fd, const char *pid, const struct fifo *fifo)
{
	char path[64];
	DIR *directory CLEANUP_CLOSEDIR = NULL;
	struct dirent *entry;
	int fd;

	snprintf(path, sizeof(path), "%.20s/fd", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		struct stat status;

		if (fstatat(fd, entry->d_name, &status, 0) == 0 && status.st_dev == fifo->device &&
		        status.st_ino == fifo->inode)
			return 1;
	}
	return 0;
}

bool fifo_is_open_elsewhere(const struct fifo *fifo)
{
	DIR *proc CLEANUP_CLOSEDIR = opendir("/proc");
	struct dirent *entry;

	if (!proc)
		return true;
	while ((entry = readdir(proc))) {
		int is_open;

		if (*entry->d_name < '1' || *entry->d_name > '9' || atoi(entry->d_name) == getpid())
			continue;
		is_open = has_open(dirfd(proc), entry->d_name, fifo);
		/* Gone meanwhile (ENOENT, or ESRCH while it is read) is no reason to think so. */
		if (is_open > 0 || (is_open < 0 && is_open != -ENOENT && is_open != -ESRCH))
			return true;
	}
	return false;
}
