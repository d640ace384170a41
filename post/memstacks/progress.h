/* progress.h: the progress bar, and the end by a signal. */
#ifndef POST_MEMSTACKS_PROGRESS_H
#define POST_MEMSTACKS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool shown;           /* a bar is wanted: standard error is a terminal */
	bool drawn;           /* a bar is on the screen */
	uint64_t begin, last; /* ms */
};

void progress_init(struct progress *progress, bool quiet);

/* For profile_options.progress: draws the bar once the work has taken over a second. -ECANCELED after a
 * signal. */
int progress_step(void *context, const char *what, unsigned thousandths);

/* Takes the bar off the screen. */
void progress_clear(struct progress *progress);

/* From here on SIGINT, SIGTERM and SIGHUP make progress_step fail, so that what was begun is cleaned up. */
void progress_catch_signals(void);

/* The signal that came, or 0. */
int progress_signal(void);

#endif
