/* file.c: whole reads and writes. */
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"

int file_write_all(int fd, const void *data, size_t n)
{
	const uint8_t *at = data;

	while (n > 0) {
		ssize_t n_written = write(fd, at, n);

		if (n_written < 0 && errno == EINTR)
			continue;
		if (n_written < 0)
			return -errno;
		if (n_written == 0) /* not allowed for n > 0; never loop on it */
			return -EIO;
		at += n_written;
		n -= (size_t)n_written;
	}
	return 0;
}

ssize_t file_read_up_to(int fd, void *ret_data, size_t n)
{
	uint8_t *at = ret_data;
	size_t n_done = 0;

	while (n_done < n) {
		ssize_t n_read = read(fd, at + n_done, n - n_done);

		if (n_read < 0 && errno == EINTR)
			continue;
		if (n_read < 0)
			return -errno;
		if (n_read == 0)
			break;
		n_done += (size_t)n_read;
	}
	return (ssize_t)n_done;
}

int file_read_at(int fd, void *ret_data, size_t n, uint64_t offset)
{
	uint8_t *at = ret_data;

	while (n > 0) {
		ssize_t n_read = pread(fd, at, n, (off_t)offset);

		if (n_read < 0 && errno == EINTR)
			continue;
		if (n_read < 0)
			return -errno;
		if (n_read == 0)
			return -ENODATA;
		at += n_read;
		n -= (size_t)n_read;
		offset += (uint64_t)n_read;
	}
	return 0;
}

static int open_regular(int folder_fd, const char *name, size_t n_max, size_t *ret_size)
{
	/* Not blocking: what has this name may be a pipe. */
	CLEANUP_CLOSE int fd =
	        openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if (status.st_size < 0 || (uint64_t)status.st_size > n_max)
		return -EFBIG;
	*ret_size = (size_t)status.st_size;
	return steal_fd(&fd);
}

int file_read_whole(int folder_fd, const char *name, size_t n_max, char **ret_data, size_t *ret_n)
{
	size_t size = 0;
	CLEANUP_CLOSE int fd = open_regular(folder_fd, name, n_max, &size);
	CLEANUP_FREE char *data = NULL;
	ssize_t n;

	if (fd < 0)
		return fd;
	data = malloc(size + 1);
	if (!data)
		return -ENOMEM;
	n = file_read_up_to(fd, data, size);
	if (n < 0)
		return (int)n;
	data[n] = '\0';
	*ret_data = STEAL_PTR(data);
	*ret_n = (size_t)n;
	return 0;
}

int file_create(int folder_fd, const char *name, uid_t uid, gid_t gid)
{
	CLEANUP_CLOSE int fd =
	        openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if ((status.st_uid != uid || status.st_gid != gid) && fchown(fd, uid, gid) < 0)
		return -errno;
	return steal_fd(&fd);
}

FILE *file_stream(int fd)
{
	CLEANUP_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *file;

	if (copy < 0)
		return NULL;
	file = fdopen(copy, "w");
	if (file)
		steal_fd(&copy);
	return file;
}

int file_stream_close(FILE *file)
{
	bool failed = fflush(file) != 0;
	int error = failed ? errno : 0;

	failed = ferror(file) || failed;
	if (fclose(file) != 0 && !error)
		error = errno;
	if (failed && !error)
		error = EIO; /* of an earlier write, whose own number is gone */
	return -error;
}
