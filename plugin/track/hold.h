/* hold.h: the thread that classifies new code while the process that brings it is held. */
#ifndef PLUGIN_TRACK_HOLD_H
#define PLUGIN_TRACK_HOLD_H

#include <stdbool.h>

#include "kernel/programs.h"
#include "track/files.h"
#include "track/guardian.h"

struct hold;

/* Takes over `listener` and starts the thread, and one that sees to it that nobody is held for more than ten
 * seconds. The rest must outlive the result. Negative errno. */
int hold_start(int listener, struct guardian *guardian, struct programs *programs, struct files *files,
	struct untraced *untraced, const struct log_sink *log, struct hold **ret_hold);

/* Whether no process is left that could be held, nor one that is followed: they are all under the filter. Accepts
 * NULL: then nothing is known. */
bool hold_is_over(const struct hold *hold);

/* Ends the thread; what is held from then on is let go by the guardian. NULL-safe; returns NULL. */
struct hold *hold_stop(struct hold *hold);

#endif
