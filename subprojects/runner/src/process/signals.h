/* signals.h: what the runner does with signals: it takes them as messages and passes them on. */
#ifndef RUNNER_PROCESS_SIGNALS_H
#define RUNNER_PROCESS_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "process/caller.h"
#include "process/child.h"

struct signals {
	int fd;                /* signalfd, non-blocking */
	unsigned n_interrupts; /* requests to end: SIGINT, SIGTERM, SIGHUP, SIGQUIT */
	int last;              /* the last of them, 0: none */
};

/* Blocks the signals that the runner passes on and opens the signalfd. The mask is inherited by all threads
 * that come after. -errno. */
int signals_init(struct signals *ret_signals);
void signals_deinit(struct signals *signals);

/* Takes what has arrived, and passes it on to `child` (NULL: to nobody) unless it was reached already.
 *
 * Reached already is a child in the runner's process group by a signal of the kernel: one from the terminal
 * goes to the whole foreground group. Except for the SIGHUP of a terminal that is gone, which only its
 * session leader gets (tty_signal_session_leader, drivers/tty/tty_jobctrl.c). A signal that the child itself
 * sent to its group is not sent back. */
void signals_take(struct signals *signals, const struct child *child);

/* The signal that asked the runner to end before the command was started, 0: none. What the caller ignores
 * does not count. */
int signals_end_request(struct signals *signals, const struct caller *caller);

#endif
