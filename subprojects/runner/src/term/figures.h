/* figures.h: the instrument's figures, as a live line and as the table at the end. */
#ifndef RUNNER_TERM_FIGURES_H
#define RUNNER_TERM_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner_plugin.h"
#include "util/text.h"

/* The figures of one moment. */
struct figures {
	struct runner_figure *items;
	uint32_t n_items;
	uint32_t n_room;
};

void figures_deinit(struct figures *figures);

/* Asks the plugin for all its figures. Negative errno: the plugin's, -ENOMEM, or -E2BIG for more than a
 * screenful of screens; the set is empty then. Figures without key or label are left out; *ret_n_nameless
 * counts them. */
int figures_read(
        struct figures *figures, const struct runner_plugin *api, void *state, uint32_t *ret_n_nameless);

/* The value with its unit. */
void figures_value(const struct runner_figure *figure, char ret_text[TEXT_NUMBER_SIZE]);

/* Elapsed time and the live figures, those that deserve attention first, as many as fit into n_columns. The
 * caller frees *ret_line. */
int figures_line(const struct figures *figures, uint64_t elapsed_ns, size_t n_columns, char **ret_line);

/* The summary's figures, one a line; what deserves attention is marked with '!', and red with `colour`. The
 * caller frees *ret_table. */
int figures_table(const struct figures *figures, bool colour, char **ret_table);

#endif
