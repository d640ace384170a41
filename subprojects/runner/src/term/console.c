/* console.c: everything the runner says, on standard error. */
#include "term/console.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runner_plugin.h"
#include "util/cleanup.h"
#include "util/text.h"

#define ERASE_LINE    "\r\033[K"
#define COLOUR_RED    "\033[31m"
#define COLOUR_YELLOW "\033[33m"
#define COLOUR_NONE   "\033[0m"

static void unlock(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

#define LOCKED(console)                                                                                      \
	pthread_mutex_t *locked CLEANUP(unlock) = &(console)->lock;                                          \
	pthread_mutex_lock(locked)

void console_init(struct console *console, int fd)
{
	const char *term = getenv("TERM");
	const char *no_colour = getenv("NO_COLOR");

	*console = (struct console){.fd = fd};
	pthread_mutex_init(&console->lock, NULL);
	console->terminal = isatty(fd) && term && *term && strcmp(term, "dumb");
	console->colour = console->terminal && !(no_colour && *no_colour);
}

void console_deinit(struct console *console)
{
	for (size_t i = 0; i < console->n_kept; i++)
		free(console->kept[i]);
	pthread_mutex_destroy(&console->lock);
}

/* Nobody can be told when standard error fails, so that is not an error of ours. */
static void write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
		else if (n < 0 && errno != EINTR)
			return;
		if (n > 0) {
			text += n;
			length -= (size_t)n;
		}
	}
}

/* Under the lock. */
static void erase_line(struct console *console)
{
	if (console->line_shown)
		write_all(console->fd, ERASE_LINE, strlen(ERASE_LINE));
	console->line_shown = false;
}

/* Under the lock: remembers what summary.json should repeat. */
static void keep(struct console *console, const char *text)
{
	char *copy = console->n_kept < CONSOLE_N_KEPT ? strdup(text) : NULL;

	if (copy)
		console->kept[console->n_kept++] = copy;
	else
		console->n_not_kept++;
}

static bool is_shown(const struct console *console, uint32_t level)
{
	if (level <= RUNNER_LOG_WARNING)
		return true;
	return !console->quiet && level - RUNNER_LOG_WARNING <= console->verbose;
}

/* One write for the whole message, so that it is not mixed with what the benchmark writes. */
static void say(struct console *console, uint32_t level, const char *text)
{
	const char *mark = level == RUNNER_LOG_WARNING ? "warning: " : "";
	const char *colour = level == RUNNER_LOG_ERROR ? COLOUR_RED : COLOUR_YELLOW;
	bool coloured = console->colour && level <= RUNNER_LOG_WARNING;
	char *line CLEANUP_FREE = NULL;
	char *safe CLEANUP_FREE = strdup(text);
	int length;

	if (!safe)
		return;
	text_defuse(safe);
	LOCKED(console);
	if (level == RUNNER_LOG_ERROR)
		console->n_errors++;
	if (level <= RUNNER_LOG_WARNING)
		keep(console, safe);
	if (!is_shown(console, level))
		return;
	length = asprintf(
	        &line, "%srunner: %s%s%s\n", coloured ? colour : "", mark, safe, coloured ? COLOUR_NONE : "");
	if (length < 0) {
		line = NULL;
		return;
	}
	erase_line(console);
	write_all(console->fd, line, (size_t)length);
}

void console_say(struct console *console, uint32_t level, const char *format, ...)
{
	char *text CLEANUP_FREE = NULL;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		text = NULL;
		return;
	}
	say(console, level, text);
}

size_t console_n_errors(struct console *console)
{
	LOCKED(console);
	return console->n_errors;
}

void console_ensure_error(struct console *console, int error)
{
	if (console_n_errors(console) == 0)
		console_error(console, "%s", strerror(-error));
}

void console_log(void *context, uint32_t level, const char *text)
{
	say(context, level, text ? text : "(no text)");
}

void console_write(struct console *console, const char *text)
{
	LOCKED(console);
	erase_line(console);
	write_all(console->fd, text, strlen(text));
}

bool console_is_live(const struct console *console)
{
	return console->terminal && !console->quiet;
}

size_t console_columns(const struct console *console)
{
	struct winsize size;

	/* The last column stays free: some terminals wrap as soon as it is written. */
	if (ioctl(console->fd, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
		return 79;
	return size.ws_col - 1u;
}

/* Writing to a terminal that another job owns may stop the runner (TOSTOP), and one stopped by Ctrl-S would
 * keep it from seeing the benchmark's end. */
static bool can_draw(const struct console *console)
{
	struct pollfd writable = {.fd = console->fd, .events = POLLOUT};
	pid_t foreground = tcgetpgrp(console->fd);

	if (foreground >= 0 && foreground != getpgrp())
		return false;
	return poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT);
}

void console_show_line(struct console *console, const char *text)
{
	char *line CLEANUP_FREE = NULL;
	int length;

	if (!console_is_live(console) || !can_draw(console))
		return;
	LOCKED(console);
	if (!text) {
		erase_line(console);
		return;
	}
	length = asprintf(&line, ERASE_LINE "%s", text);
	if (length < 0) {
		line = NULL;
		return;
	}
	write_all(console->fd, line, (size_t)length);
	console->line_shown = true;
}
