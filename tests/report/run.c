/* run.c: other programs by the shell. */
#include "run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char *read_all(FILE *stream)
{
	size_t n = 0, n_allocated = 65536;
	char *text = malloc(n_allocated);

	while (text && !feof(stream) && !ferror(stream)) {
		if (n_allocated - n < 4096)
			text = realloc(text, n_allocated *= 2);
		if (text)
			n += fread(text + n, 1, n_allocated - n - 1, stream);
	}
	if (!text)
		abort();
	text[n] = '\0';
	return text;
}

static char *run_command(const char *command, int *ret_status)
{
	FILE *stream = popen(command, "re");
	char *text;
	int status;

	if (!stream)
		abort();
	text = read_all(stream);
	status = pclose(stream);
	if (!WIFEXITED(status)) {
		fprintf(stderr, "killed by signal %d: %s\n", WTERMSIG(status), command);
		abort();
	}
	*ret_status = WEXITSTATUS(status);
	return text;
}

char *run(int *ret_status, const char *format, ...)
{
	va_list arguments;
	char *command, *text;

	va_start(arguments, format);
	if (vasprintf(&command, format, arguments) < 0)
		abort();
	va_end(arguments);
	text = run_command(command, ret_status);
	free(command);
	return text;
}

char *run_well(const char *format, ...)
{
	va_list arguments;
	char *command, *text;
	int status;

	va_start(arguments, format);
	if (vasprintf(&command, format, arguments) < 0)
		abort();
	va_end(arguments);
	text = run_command(command, &status);
	if (status) {
		fprintf(stderr, "status %d of: %s\n%s\n", status, command, text);
		abort();
	}
	free(command);
	return text;
}

bool run_has(const char *command, const char *what)
{
	int status;

	free(run(&status, "command -v %s", command));
	if (status)
		fprintf(stderr, "SKIPPED: %s: there is no %s\n", what, command);
	return status == 0;
}

const char *run_memstacks(void)
{
	const char *path = getenv("MEMSTACKS");

	if (!path)
		abort();
	return path;
}
