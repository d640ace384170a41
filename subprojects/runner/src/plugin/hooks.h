/* hooks.h: which of the hooks that were appended to the ABI a plugin has. */
#ifndef RUNNER_PLUGIN_HOOKS_H
#define RUNNER_PLUGIN_HOOKS_H

#include <stddef.h>

#include "runner_plugin.h"

/* Never reads beyond what the plugin describes of itself. */
#define PLUGIN_HAS(api, hook)                                                                                \
	((api)->size >= offsetof(struct runner_plugin, hook) + sizeof((api)->hook) && (api)->hook != NULL)

#endif
