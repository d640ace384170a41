/* folder.c: temporary folders. */
#include "folder.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "artifact/writer.h"
#include "util/cleanup.h"

struct folder folder_new(void)
{
	struct folder folder = {.path = "/tmp/memstacks-test.XXXXXX"};

	cr_assert_not_null(mkdtemp(folder.path), "%s", strerror(errno));
	folder.fd = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(folder.fd, 0);
	return folder;
}

void folder_remove(struct folder *folder)
{
	int status;

	close(folder->fd);
	free(shell(&status, "rm -r -- %s", folder->path));
	cr_assert_eq(status, 0);
}

void folder_write_artifact(const struct folder *folder, const struct event *events, size_t n)
{
	struct artifact_writer *writer;
	int fd;

	cr_assert_eq(mkdirat(folder->fd, "results", 0700), 0);
	fd = openat(folder->fd, "results/1.MemtrackArtifact.msgpack", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	        0600);
	cr_assert_geq(fd, 0);
	cr_assert_eq(artifact_writer_new(fd, -1, &writer), 0);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(artifact_writer_add(writer, &events[i]), 0);
	cr_assert_eq(artifact_writer_finish(writer), 0);
	artifact_writer_free(writer);
	close(fd);
}

static char *read_stream(FILE *stream)
{
	char *text = NULL;
	size_t n = 0;

	/* Everything up to a NUL, that is, up to the end of any text. */
	if (getdelim(&text, &n, '\0', stream) < 0) {
		free(text);
		text = strdup("");
	}
	return text;
}

char *shell(int *ret_status, const char *format, ...)
{
	CLEANUP_FREE char *command = NULL;
	char *output;
	FILE *stream;
	va_list arguments;
	int status;

	va_start(arguments, format);
	cr_assert_geq(vasprintf(&command, format, arguments), 0);
	va_end(arguments);
	stream = popen(command, "re");
	cr_assert_not_null(stream);
	output = read_stream(stream);
	status = pclose(stream);
	cr_assert(WIFEXITED(status), "%s", command);
	*ret_status = WEXITSTATUS(status);
	return output;
}

void run(const char *format, ...)
{
	CLEANUP_FREE char *command = NULL, *text = NULL;
	va_list arguments;
	int status;

	va_start(arguments, format);
	cr_assert_geq(vasprintf(&command, format, arguments), 0);
	va_end(arguments);
	text = shell(&status, "(%s) 2>&1", command);
	cr_assert_eq(status, 0, "%s: %s", command, text);
}

const char *fixture(const char *name)
{
	static char path[4096];
	const char *folder = getenv("FIXTURES");

	cr_assert_not_null(folder, "FIXTURES is not set");
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

int open_fixture(const char *name)
{
	int fd = open(fixture(name), O_RDONLY | O_CLOEXEC);

	cr_assert_geq(fd, 0, "%s", fixture(name));
	return fd;
}

bool have_profile_check(void)
{
	const char *chosen = getenv("MEMSTACKS_PROFILE_CHECK"),
	           *path = chosen ? chosen : getenv("PROFILE_CHECK");

	return path && access(path, R_OK) == 0;
}

json_object *profile_check(const struct folder *folder, const char *options, int *ret_status)
{
	CLEANUP_FREE char *output = shell(ret_status,
	        "/usr/bin/env python3 \"${MEMSTACKS_PROFILE_CHECK:-$PROFILE_CHECK}\" --json %s %s", options,
	        folder->path);
	json_object *object = json_tokener_parse(output);

	cr_assert_not_null(object, "profile_check.py said: %s", output);
	return object;
}

uint64_t json_uint(json_object *object, const char *key)
{
	json_object *value;

	cr_assert(json_object_object_get_ex(object, key, &value), "no %s", key);
	return json_object_get_uint64(value);
}
