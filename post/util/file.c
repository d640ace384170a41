/* file.c: whole reads and writes. */
#include "util/file.h"

#include <errno.h>
#include <unistd.h>

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
