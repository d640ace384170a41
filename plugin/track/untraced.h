/* untraced.h: programs and libraries whose allocator calls are not seen. Each is named once. */
#ifndef PLUGIN_TRACK_UNTRACED_H
#define PLUGIN_TRACK_UNTRACED_H

#include <stddef.h>
#include <stdint.h>

#include "util/log.h"

struct untraced;

struct untraced_entry {
	const char *path;
	const char *reason;
	uint32_t pid; /* the first process concerned, as the runner sees it */
};

int untraced_new(const struct log_sink *log, struct untraced **ret_untraced);

/* Any thread. Logs a warning the first time a path is given. */
void untraced_add(struct untraced *untraced, const char *path, uint32_t pid, const char *reason);

size_t untraced_count(struct untraced *untraced);
struct untraced_entry untraced_get(struct untraced *untraced, size_t index);

/* NULL-safe; returns NULL. */
struct untraced *untraced_free(struct untraced *untraced);

#endif
