/* loader.h: finds and loads an instrument. */
#ifndef RUNNER_PLUGIN_LOADER_H
#define RUNNER_PLUGIN_LOADER_H

#include "runner_plugin.h"
#include "term/console.h"

/* Loads runner-<instrument>.so from the first of the places (see places.h) that has it, and checks that it is
 * of this ABI and complete. It stays loaded until the process ends: a thread that a failed instrument left
 * must not lose its code.
 *
 * When the runner has rights that its caller does not have (AT_SECURE), the file and its directory must
 * belong to root, be writable by nobody else, and lie on no file system that a user may have mounted.
 *
 * -EINVAL: no name of an instrument; -ENOENT: there is none; -EPERM: the file is not trusted; -ELIBBAD: it
 * cannot be loaded; -EPROTO: another ABI, or not what the ABI says. Errors are said. */
int loader_load(const char *instrument, const char *plugin_dir, struct console *console,
        const struct runner_plugin **ret_api);

/* The file that `api` was loaded from, for messages. */
const char *loader_path(const struct runner_plugin *api);

#endif
