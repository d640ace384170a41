/* console.h: everything the runner says, on standard error: messages, the live line, the summary.
 *
 * Standard output belongs to the benchmark. Any thread may say something; the other functions belong to the
 * main thread.
 */
#ifndef RUNNER_TERM_CONSOLE_H
#define RUNNER_TERM_CONSOLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages kept for summary.json; more are counted. */
#define CONSOLE_N_KEPT 64

struct console {
	pthread_mutex_t lock;
	int fd;
	bool terminal; /* one that understands control sequences */
	bool colour;
	bool quiet;       /* only warnings and errors */
	unsigned verbose; /* 1 shows RUNNER_LOG_INFO, 2 RUNNER_LOG_DEBUG */
	bool line_shown;
	size_t n_errors;
	size_t n_kept;
	size_t n_not_kept;
	char *kept[CONSOLE_N_KEPT]; /* warnings and errors, as they were said */
};

/* `fd` stays the caller's. Looks at TERM and NO_COLOR (https://no-color.org). */
void console_init(struct console *console, int fd);
void console_deinit(struct console *console);

/* Says one message at a level of runner_plugin.h. Control characters in it are shown as '?'. */
void console_say(struct console *console, uint32_t level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

#define console_error(console, ...)   console_say(console, RUNNER_LOG_ERROR, __VA_ARGS__)
#define console_warning(console, ...) console_say(console, RUNNER_LOG_WARNING, __VA_ARGS__)
#define console_info(console, ...)    console_say(console, RUNNER_LOG_INFO, __VA_ARGS__)

/* How many errors were said so far. */
size_t console_n_errors(struct console *console);

/* Says `error` (a negative errno) unless an error was said already: no failure is without a word. */
void console_ensure_error(struct console *console, int error);

/* The `log` of struct runner_host; `context` is the console. */
void console_log(void *context, uint32_t level, const char *text);

/* Writes `text` as it is, below whatever stands there. */
void console_write(struct console *console, const char *text);

/* Whether there is someone to show a live line to: a terminal, and not --quiet. */
bool console_is_live(const struct console *console);

/* Columns that the live line may take. */
size_t console_columns(const struct console *console);

/* Replaces the live line; NULL only erases it. Skipped while the terminal cannot take it: another job is in
 * the foreground, or its output is stopped. */
void console_show_line(struct console *console, const char *text);

#endif
