/* terminal.h: runs a command on a terminal of its own. */
#ifndef HOST_SUPPORT_TERMINAL_H
#define HOST_SUPPORT_TERMINAL_H

#include <stddef.h>
#include <sys/types.h>

struct terminal {
	pid_t pid;  /* session leader, foreground group */
	int fd;     /* the other end; -1 once hung up */
	char *text; /* all that was written so far */
	size_t length;
};

/* Starts the command as leader of a new session on a new terminal with that many columns. */
struct terminal terminal_start(const char *const *argv, unsigned short n_columns);

/* Reads for so long, or until the command has closed the terminal. */
void terminal_read(struct terminal *terminal, unsigned ms);

/* Reads until `text` has been written; fails the test when it does not come. */
void terminal_await(struct terminal *terminal, const char *text);

/* Types. */
void terminal_type(struct terminal *terminal, const char *keys);

/* The terminal is gone. */
void terminal_hang_up(struct terminal *terminal);

/* Reads to the end; returns the status as a shell has it. */
int terminal_finish(struct terminal *terminal);

#endif
