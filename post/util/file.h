/* file.h: whole reads and writes. */
#ifndef POST_UTIL_FILE_H
#define POST_UTIL_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes all n bytes, going on after short writes and signals. 0 or a negative errno. */
int file_write_all(int fd, const void *data, size_t n);

/* Reads up to n bytes at the current position, fewer only at the end of the file. The number of bytes or a
 * negative errno. */
ssize_t file_read_up_to(int fd, void *ret_data, size_t n);

#endif
