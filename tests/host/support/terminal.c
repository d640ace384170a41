/* terminal.c: runs a command on a terminal of its own. */
#include "support/terminal.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/host.h"

#define TIMEOUT_MS 20000

struct terminal terminal_start(const char *const *argv, unsigned short n_columns)
{
	struct winsize size = {.ws_row = 24, .ws_col = n_columns};
	struct terminal terminal = {.text = calloc(1, 1)};

	terminal.pid = forkpty(&terminal.fd, NULL, NULL, &size);
	cr_assert_geq(terminal.pid, 0, "no terminal: %s", strerror(errno));
	if (terminal.pid == 0) {
		execv(argv[0], (char *const *)argv);
		_exit(98);
	}
	return terminal;
}

/* 0: nothing more will come. */
static int read_some(struct terminal *terminal, int ms)
{
	struct pollfd readable = {.fd = terminal->fd, .events = POLLIN};
	char part[4096];
	ssize_t n;

	if (poll(&readable, 1, ms) <= 0)
		return 1;
	n = read(terminal->fd, part, sizeof(part));
	if (n <= 0)
		return 0;
	terminal->text = realloc(terminal->text, terminal->length + (size_t)n + 1);
	cr_assert_not_null(terminal->text);
	memcpy(terminal->text + terminal->length, part, (size_t)n);
	terminal->length += (size_t)n;
	terminal->text[terminal->length] = '\0';
	return 1;
}

void terminal_read(struct terminal *terminal, unsigned ms)
{
	for (unsigned past = 0; past < ms; past += 10)
		if (!read_some(terminal, 10))
			host_sleep_ms(10);
}

void terminal_await(struct terminal *terminal, const char *text)
{
	for (int past = 0; past < TIMEOUT_MS && !strstr(terminal->text, text); past += 10)
		if (!read_some(terminal, 10))
			break;
	cr_assert_not_null(strstr(terminal->text, text), "no '%s' in '%s'", text, terminal->text);
}

void terminal_type(struct terminal *terminal, const char *keys)
{
	cr_assert_eq(write(terminal->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

void terminal_hang_up(struct terminal *terminal)
{
	close(terminal->fd);
	terminal->fd = -1;
}

int terminal_finish(struct terminal *terminal)
{
	int wait_status = 0;
	pid_t pid = 0;

	for (int past = 0; past < TIMEOUT_MS && pid == 0; past += 10) {
		if (terminal->fd < 0 || !read_some(terminal, 10))
			host_sleep_ms(10);
		pid = waitpid(terminal->pid, &wait_status, WNOHANG);
	}
	if (pid == 0)
		kill(terminal->pid, SIGKILL);
	cr_assert_eq(pid, terminal->pid, "it does not end");
	if (terminal->fd >= 0)
		terminal_read(terminal, 50);
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
