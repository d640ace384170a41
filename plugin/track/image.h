/* image.h: the executable mappings that a program has before its first instruction. */
#ifndef PLUGIN_TRACK_IMAGE_H
#define PLUGIN_TRACK_IMAGE_H

#include "kernel/programs.h"
#include "track/files.h"

/* Reads the mappings of process `pid`, which has just executed a program and is held: the program itself and its
 * interpreter, which execve maps without a system call of their own. Classifies their files and adds the mappings
 * to the kernel's view of the process. */
void image_add(struct programs *programs, struct files *files, const struct log_sink *log, uint32_t pid,
	const struct executed *executed);

/* Opens for reading what `name` (a link of /proc) leads to, if it is a regular file. A descriptor or a negative errno:
 * -ENOTSUP for anything else, which is not opened. */
int open_regular_file(const char *name);

/* Cuts off what the kernel appends to the path of a file without a name. */
void path_strip_deleted(char *path);

#endif
