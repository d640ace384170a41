/* files.h: the files that tracked processes map for execution: classified once, probed, kept open. */
#ifndef PLUGIN_TRACK_FILES_H
#define PLUGIN_TRACK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/programs.h"
#include "track/untraced.h"

struct files;

/* A file as the end of the run needs it; strings and descriptor belong to `files`. */
struct file_view {
	uint64_t dev, ino; /* as the kernel names it in Mapping records */
	int fd;
	const char *path;   /* as the first process that mapped it saw it */
	const char *reason; /* why fd is -1, else NULL */
};

/* `programs`, `untraced` and `log` must outlive the result. Negative errno. */
int files_new(struct programs *programs, struct untraced *untraced, const struct log_sink *log,
	struct files **ret_files);

/* One thread at a time. Takes over `fd`, open for reading: a file that process `pid` is about to map, or has just been executed from.
 * On return its probes are in place. The file is recognized by device, inode, size and times of change: a file
 * rewritten in place is classified again, after its old probes came off. `is_program`: it is the executable
 * itself. Returns 0 or a negative errno (then the file was noted as not traced). */
int files_add(struct files *files, int fd, const char *path, uint32_t pid, bool is_program);

/* Notes a file that process `pid` runs and that could not be opened. */
void files_add_unopened(struct files *files, const char *path, uint32_t pid, uint64_t dev, uint64_t ino, int error);

/* Copies the path of a file that Mapping records name, or returns -ENOENT. Any thread. */
int files_path(struct files *files, uint64_t dev, uint64_t ino, char *buffer, size_t size);

/* Is there an entry with the kernel's name for the file? */
size_t files_count(struct files *files);
struct file_view files_get(struct files *files, size_t index);

/* Hands over the links of all probes: closed, they are off. */
void files_detach(struct files *files, struct descriptors *links);

/* NULL-safe; returns NULL. */
struct files *files_free(struct files *files);

#endif
