/* command.c: whether there is a command to run. */
#include "process/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/cleanup.h"

static int check_path(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		/* The benchmark's user may see what the runner's user does not. */
		return errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ? -ENOENT : 0;
	return S_ISREG(status.st_mode) && (status.st_mode & 0111) ? 0 : -EACCES;
}

int command_check(const char *file)
{
	/* Without PATH execvp takes what confstr(_CS_PATH) says, which is this in glibc. */
	const char *path = getenv("PATH") ?: "/bin:/usr/bin";
	int result = -ENOENT;

	if (!*file)
		return -ENOENT;
	if (strchr(file, '/'))
		return check_path(file);
	for (;;) {
		size_t length = strcspn(path, ":");
		char *candidate CLEANUP_FREE = NULL;
		int error;

		if (asprintf(&candidate, "%.*s%s%s", (int)length, path, length ? "/" : "", file) < 0) {
			candidate = NULL;
			return 0;
		}
		error = check_path(candidate);
		if (error == 0)
			return 0;
		if (error == -EACCES)
			result = -EACCES;
		if (!path[length])
			return result;
		path += length + 1;
	}
}
