/* folder.c: the profile folder. */
#include "profile/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner_plugin.h"
#include "util/cleanup.h"

#define N_RANDOM     10
#define N_TRIES      100
#define N_LEVELS_MAX 8 /* of directories that folder_discard descends into */
#define MODE_PRIVATE 0700
#define OPEN_DIR     (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* `path` without slashes at its end: with one, the last component would be followed if it is a symbolic link.
 */
static char *copy_path(const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	return strndup(path, length);
}

static int fail(struct console *console, const char *what, const char *path, int error)
{
	console_error(console, "%s the profile folder %s: %s", what, path, strerror(error));
	return -error;
}

/* mkdir found something there: a directory, or what else? */
static int open_existing(const char *path, struct console *console)
{
	struct stat status;
	int fd = open(path, OPEN_DIR);
	int error = errno;

	if (fd >= 0)
		return fd;
	if (lstat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
		console_error(console, "the profile folder %s is %s, not a directory", path,
		        S_ISLNK(status.st_mode) ? "a symbolic link" : "a file");
		return -EEXIST;
	}
	return fail(console, "cannot open", path, error);
}

/* 1: empty, 0: not, or -errno. */
static int is_empty(int fd)
{
	int copy = openat(fd, ".", OPEN_DIR);
	DIR *directory CLEANUP_CLOSEDIR = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!directory) {
		cleanup_close(&copy);
		return -errno;
	}
	while (errno = 0, (entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			return 0;
	return errno ? -errno : 1;
}

static int check_existing(const struct folder *folder, struct console *console)
{
	int empty = is_empty(folder->fd);

	if (empty < 0)
		return fail(console, "cannot read", folder->path, -empty);
	if (!empty) {
		console_error(console, "the profile folder %s is not empty", folder->path);
		return -ENOTEMPTY;
	}
	if (faccessat(folder->fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return fail(console, "cannot write to", folder->path, errno);
	return 0;
}

static int make_named(struct folder *folder, const char *path, struct console *console)
{
	folder->path = copy_path(path);
	if (!folder->path)
		return -ENOMEM;
	if (!*path) {
		console_error(console, "the profile folder has no name");
		return -EINVAL;
	}
	if (mkdir(folder->path, MODE_PRIVATE) == 0)
		folder->is_new = true;
	else if (errno != EEXIST)
		return fail(console, "cannot make", folder->path, errno);
	folder->fd = open_existing(folder->path, console);
	if (folder->fd < 0)
		return folder->fd;
	return folder->is_new ? 0 : check_existing(folder, console);
}

static int put_random_name(char name[N_RANDOM])
{
	/* 64 characters, so that every random byte gives one with equal chance. */
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	unsigned char random[N_RANDOM];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return errno ? -errno : -EIO;
	for (size_t i = 0; i < sizeof(random); i++)
		name[i] = letters[random[i] % (sizeof(letters) - 1)];
	return 0;
}

static int make_unnamed(struct folder *folder, const char *parent, struct console *console)
{
	char name[N_RANDOM + 1] = {0};
	int error;

	if (!parent || !*parent)
		parent = "/tmp";
	for (int i = 0; i < N_TRIES; i++) {
		error = put_random_name(name);
		if (error < 0)
			return fail(console, "cannot name", parent, -error);
		free(folder->path);
		if (asprintf(&folder->path, "%s/profile.%s.out", parent, name) < 0) {
			folder->path = NULL;
			return -ENOMEM;
		}
		if (mkdir(folder->path, MODE_PRIVATE) == 0) {
			folder->is_new = true;
			folder->fd = open_existing(folder->path, console);
			return folder->fd < 0 ? folder->fd : 0;
		}
		if (errno != EEXIST)
			break;
	}
	return fail(console, "cannot make", folder->path, errno);
}

static int hand_over(const struct folder *folder, struct console *console)
{
	struct stat status;

	if (fstat(folder->fd, &status) < 0)
		return fail(console, "cannot look at", folder->path, errno);
	/* The stacks in it hold the benchmark's data: nobody else's business. */
	if ((status.st_mode & 07777) != MODE_PRIVATE && fchmod(folder->fd, MODE_PRIVATE) < 0)
		return fail(console, "cannot make private", folder->path, errno);
	if (status.st_uid == folder->uid && status.st_gid == folder->gid)
		return 0;
	if (geteuid() == 0 && fchown(folder->fd, folder->uid, folder->gid) < 0)
		return fail(console, "cannot give to the user", folder->path, errno);
	return 0;
}

int folder_init(struct folder *ret_folder, const char *path, const char *parent, uid_t uid, gid_t gid,
        struct console *console)
{
	struct folder folder = {.fd = -1, .uid = uid, .gid = gid};
	int error = path ? make_named(&folder, path, console) : make_unnamed(&folder, parent, console);

	if (error == 0)
		error = hand_over(&folder, console);
	if (error < 0) {
		if (folder.is_new)
			rmdir(folder.path);
		folder_deinit(&folder);
		return error;
	}
	*ret_folder = folder;
	return 0;
}

void folder_deinit(struct folder *folder)
{
	cleanup_close(&folder->fd);
	free(folder->path);
	*folder = FOLDER_NONE;
}

static void remove_content(int fd, int n_levels)
{
	DIR *directory CLEANUP_CLOSEDIR = fdopendir(fd);
	struct dirent *entry;

	if (!directory) {
		close(fd);
		return;
	}
	while ((entry = readdir(directory))) {
		int below;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (unlinkat(fd, entry->d_name, 0) == 0 || n_levels == 0)
			continue;
		below = openat(fd, entry->d_name, OPEN_DIR);
		if (below < 0)
			continue;
		remove_content(below, n_levels - 1);
		unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	}
}

void folder_discard(struct folder *folder)
{
	int fd = folder->fd < 0 ? -1 : openat(folder->fd, ".", OPEN_DIR);
	struct stat opened, named;

	if (fd < 0)
		return;
	remove_content(fd, N_LEVELS_MAX);
	if (folder->is_new && fstat(folder->fd, &opened) == 0 && lstat(folder->path, &named) == 0 &&
	        opened.st_dev == named.st_dev && opened.st_ino == named.st_ino)
		rmdir(folder->path);
	folder_deinit(folder);
}

int folder_create_file(const struct folder *folder, const char *name)
{
	int fd CLEANUP_CLOSE =
	        openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (geteuid() == 0 && fchown(fd, folder->uid, folder->gid) < 0)
		return -errno;
	return steal_fd(&fd);
}
