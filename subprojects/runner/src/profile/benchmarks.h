/* benchmarks.h: the instrument's figures of each benchmark. */
#ifndef RUNNER_PROFILE_BENCHMARKS_H
#define RUNNER_PROFILE_BENCHMARKS_H

#include <stddef.h>
#include <stdint.h>

#include "runner_plugin.h"

struct benchmarks {
	size_t n;
	size_t n_room;
	char **uris;
	struct runner_figure *figures; /* n_figures of each benchmark */
	uint32_t n_figures;
};

/* Asks the plugin for all of them, if it has any. Negative errno: the plugin's, -ENOMEM, or -EPROTO where
 * they do not all have the same number of figures, or one without a key; those before it are there. */
int benchmarks_read(struct benchmarks *benchmarks, const struct runner_plugin *api, void *state);
void benchmarks_deinit(struct benchmarks *benchmarks);

/* The n_figures of one. */
const struct runner_figure *benchmarks_figures(const struct benchmarks *benchmarks, size_t index);

/* One line a benchmark, under a heading, the first of them where there are very many; "" when there is none.
 * The caller frees *ret_table. */
int benchmarks_table(const struct benchmarks *benchmarks, char **ret_table);

#endif
