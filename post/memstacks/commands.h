/* commands.h: what memstacks does. */
#ifndef POST_MEMSTACKS_COMMANDS_H
#define POST_MEMSTACKS_COMMANDS_H

#include "memstacks/options.h"

/* Runs the command; says on standard error what went wrong. The exit status. */
int command_run(const struct options *options);

#endif
