/* run.h: one run of an instrument over one command. */
#ifndef RUNNER_RUN_H
#define RUNNER_RUN_H

#include "cli/options.h"
#include "process/caller.h"
#include "process/environment.h"
#include "runner_plugin.h"
#include "term/console.h"

/* Does everything from the profile folder to the summary. options->command is not NULL. `environment` may get
 * new values for the command's user. Returns the runner's exit status; whatever went wrong was said. */
int run(const struct runner_plugin *api, const struct options *options, const struct caller *caller,
        struct environment *environment, struct console *console);

#endif
