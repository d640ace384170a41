/* help.h: what --help and --version print. */
#ifndef RUNNER_CLI_HELP_H
#define RUNNER_CLI_HELP_H

#include "runner_plugin.h"

/* Print to standard output, where these two answers belong. api: the instrument, or NULL. -errno: it cannot
 * be written. */
int help_print(const struct runner_plugin *api);
int help_print_version(const struct runner_plugin *api);

#endif
