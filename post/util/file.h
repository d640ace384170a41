/* file.h: whole reads and writes. */
#ifndef POST_UTIL_FILE_H
#define POST_UTIL_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Writes all n bytes, going on after short writes and signals. 0 or a negative errno. */
int file_write_all(int fd, const void *data, size_t n);

/* Reads up to n bytes at the current position, fewer only at the end of the file. The number of bytes or a
 * negative errno. */
ssize_t file_read_up_to(int fd, void *ret_data, size_t n);

/* Reads exactly n bytes at an offset, leaving the position alone. 0, -ENODATA where the file ends before, or
 * another negative errno. */
int file_read_at(int fd, void *ret_data, size_t n, uint64_t offset);

/* Reads a whole regular file below an open folder, without following a symbolic link. *ret_data has a NUL
 * behind the *ret_n bytes and belongs to the caller (free). 0 or a negative errno: -EFBIG where it has more
 * than n_max bytes, -EINVAL where it is not a regular file. */
int file_read_whole(int folder_fd, const char *name, size_t n_max, char **ret_data, size_t *ret_n);

/* Makes a file below the open folder, which must not exist, for writing, mode 0600, and gives it to an owner.
 * A descriptor or a negative errno. */
int file_create(int folder_fd, const char *name, uid_t uid, gid_t gid);

/* A stream of its own for writing to `fd`, which stays the caller's. NULL with errno set. */
FILE *file_stream(int fd);

/* Ends it. 0, or a negative errno where any write since file_stream() failed: -EIO where its own number is
 * gone. */
int file_stream_close(FILE *file);

#endif
