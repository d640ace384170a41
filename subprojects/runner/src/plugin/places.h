/* places.h: the directories where instruments are looked for. */
#ifndef RUNNER_PLUGIN_PLACES_H
#define RUNNER_PLUGIN_PLACES_H

#include <stddef.h>

struct places {
	char **directories;
	size_t n_directories;
};

/* In this order: plugin_dir (NULL: none), those of RUNNER_PLUGIN_PATH (separated by ':'), the build tree when
 * the runner is executed out of one, the installed directory. -ENOMEM. */
int places_init(struct places *ret_places, const char *plugin_dir);
void places_deinit(struct places *places);

/* All of them, separated by ", ". The caller frees it; NULL: out of memory. */
char *places_list(const struct places *places);

#endif
