/* output.c: write beside, then rename. */
#include "memstacks/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/cleanup.h"

#define N_TRIES 100

static int open_directly(const char *path, struct output *ret_output)
{
	CLEANUP_CLOSE int fd =
	        path ? open(path, O_WRONLY | O_CLOEXEC) : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	struct output output = {0};

	if (fd < 0)
		return -errno;
	output.stream = fdopen(fd, "w");
	if (!output.stream)
		return -errno;
	steal_fd(&fd);
	*ret_output = output;
	return 0;
}

/* A new file in the folder of output->path, whose name nobody can know before. */
static int open_temporary(struct output *output, mode_t mode)
{
	const char *slash = strrchr(output->path, '/');
	int n_folder = slash ? (int)(slash - output->path + 1) : 0;
	int fd = -1, error;

	for (int i = 0; fd < 0 && i < N_TRIES; i++) {
		free(output->temporary);
		output->temporary = NULL;
		if (asprintf(&output->temporary, "%.*s.memstacks-%ld-%d.partial", n_folder, output->path,
		            (long)getpid(), i) < 0) {
			output->temporary = NULL;
			return -ENOMEM;
		}
		fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0) {
		error = -errno;
		free(output->temporary);
		output->temporary = NULL;
		return error;
	}
	output->stream = fdopen(fd, "w");
	if (output->stream)
		return 0;
	close(fd);
	return -ENOMEM;
}

int output_open(const char *path, struct output *ret_output)
{
	struct output output = {0};
	struct stat info;
	bool exists;
	int error;

	if (!path)
		return open_directly(NULL, ret_output);
	exists = stat(path, &info) == 0;
	if (exists && S_ISDIR(info.st_mode))
		return -EISDIR;
	if (exists && !S_ISREG(info.st_mode))
		return open_directly(path, ret_output);
	output.path = exists ? realpath(path, NULL) : strdup(path);
	if (!output.path)
		return exists ? -errno : -ENOMEM;
	error = open_temporary(&output, 0666);
	if (!error && exists && fchmod(fileno(output.stream), info.st_mode & 0777) < 0)
		error = -errno;
	if (error < 0)
		output_abort(&output);
	else
		*ret_output = output;
	return error;
}

int output_commit(struct output *output)
{
	int error = 0;

	if (fflush(output->stream) || ferror(output->stream))
		error = errno ? -errno : -EIO;
	if (fclose(output->stream) && !error)
		error = -errno;
	output->stream = NULL;
	if (!error && output->path && rename(output->temporary, output->path) < 0)
		error = -errno;
	if (!error) {
		free(output->temporary);
		output->temporary = NULL;
	}
	output_abort(output);
	return error;
}

void output_abort(struct output *output)
{
	if (output->stream)
		fclose(output->stream);
	if (output->temporary)
		unlink(output->temporary);
	free(output->temporary);
	free(output->path);
	*output = (struct output){0};
}
