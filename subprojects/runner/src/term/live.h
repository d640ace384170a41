/* live.h: the line that shows how things are going, while they are. */
#ifndef RUNNER_TERM_LIVE_H
#define RUNNER_TERM_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "term/console.h"
#include "term/figures.h"

struct live {
	struct console *console;
	uint64_t started_ns; /* CLOCK_MONOTONIC, like the next */
	uint64_t next_ns;    /* when the line is to be drawn again */
};

/* The command starts now; there is no line for the first moments. */
void live_start(struct live *live, struct console *console);

/* Nanoseconds since live_start. */
uint64_t live_elapsed(const struct live *live);

/* Milliseconds until the line is to be drawn again, as poll takes them: -1: never, there is nobody to see it.
 */
int live_timeout(const struct live *live);

/* Whether it is time to draw; if so, it is not again for a while. */
bool live_is_due(struct live *live);

/* Draw. `thousandths` of `what` (NULL: nothing to say) are done. */
void live_show_figures(struct live *live, const struct figures *figures);
void live_show_progress(struct live *live, uint32_t thousandths, const char *what);

#endif
