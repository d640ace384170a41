/* figures.c: the instrument's figures, as a live line and as the table at the end. */
#include "term/figures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

#define N_FIGURES_FIRST 32u
#define N_FIGURES_MAX   1024u

void figures_deinit(struct figures *figures)
{
	free(figures->items);
	*figures = (struct figures){0};
}

static int make_room(struct figures *figures, uint32_t n_room)
{
	struct runner_figure *items;

	if (n_room <= figures->n_room)
		return 0;
	if (n_room > N_FIGURES_MAX)
		return -E2BIG;
	items = reallocarray(figures->items, n_room, sizeof(*items));
	if (!items)
		return -ENOMEM;
	figures->items = items;
	figures->n_room = n_room;
	return 0;
}

int figures_read(
        struct figures *figures, const struct runner_plugin *api, void *state, uint32_t *ret_n_nameless)
{
	uint32_t n_named = 0;
	int n_there;
	int error = make_room(figures, N_FIGURES_FIRST);

	figures->n_items = 0;
	if (error < 0)
		return error;
	n_there = api->figures(state, figures->items, figures->n_room);
	if (n_there > (int)figures->n_room) {
		error = make_room(figures, (uint32_t)n_there);
		if (error < 0)
			return error;
		n_there = api->figures(state, figures->items, figures->n_room);
	}
	if (n_there < 0)
		return n_there;
	/* There may be more by now than a moment ago: they come with the next reading. */
	if (n_there > (int)figures->n_room)
		n_there = (int)figures->n_room;
	for (int i = 0; i < n_there; i++)
		if (figures->items[i].key && figures->items[i].label)
			figures->items[n_named++] = figures->items[i];
	figures->n_items = n_named;
	*ret_n_nameless = (uint32_t)n_there - n_named;
	return 0;
}

void figures_value(const struct runner_figure *figure, char ret_text[TEXT_NUMBER_SIZE])
{
	if (figure->unit == RUNNER_UNIT_BYTES)
		text_bytes(figure->value, ret_text);
	else if (figure->unit == RUNNER_UNIT_NANOSECONDS)
		text_duration(figure->value, ret_text);
	else
		text_count(figure->value, ret_text);
}

static bool is_bad(const struct runner_figure *figure)
{
	return (figure->flags & RUNNER_FIGURE_BAD) && figure->value != 0;
}

/* Appends the live figures that are bad, or those that are not, while they fit. */
static void append_live(
        const struct figures *figures, bool bad, size_t n_columns, FILE *stream, size_t *n_used)
{
	char value[TEXT_NUMBER_SIZE];

	for (uint32_t i = 0; i < figures->n_items; i++) {
		const struct runner_figure *figure = &figures->items[i];
		size_t n_more;

		if (!(figure->flags & RUNNER_FIGURE_LIVE) || is_bad(figure) != bad)
			continue;
		figures_value(figure, value);
		n_more = 4 + bad + text_columns(figure->label) + text_columns(value);
		if (*n_used + n_more > n_columns)
			continue;
		*n_used += n_more;
		fprintf(stream, " | %s%s %s", bad ? "!" : "", figure->label, value);
	}
}

int figures_line(const struct figures *figures, uint64_t elapsed_ns, size_t n_columns, char **ret_line)
{
	char elapsed[TEXT_NUMBER_SIZE];
	char *line = NULL;
	size_t size = 0;
	size_t n_used;
	FILE *stream = open_memstream(&line, &size);

	if (!stream)
		return -ENOMEM;
	text_duration(elapsed_ns, elapsed);
	n_used = text_columns(elapsed);
	if (n_used <= n_columns) {
		fputs(elapsed, stream);
		append_live(figures, true, n_columns, stream, &n_used);
		append_live(figures, false, n_columns, stream, &n_used);
	}
	if (fclose(stream)) {
		free(line);
		return -ENOMEM;
	}
	text_defuse(line);
	*ret_line = line;
	return 0;
}

/* Columns of the widest label and the widest value of the summary. */
static void measure(const struct figures *figures, size_t *ret_n_label, size_t *ret_n_value)
{
	char value[TEXT_NUMBER_SIZE];
	size_t n_label = 0;
	size_t n_value = 0;

	for (uint32_t i = 0; i < figures->n_items; i++) {
		if (!(figures->items[i].flags & RUNNER_FIGURE_SUMMARY))
			continue;
		figures_value(&figures->items[i], value);
		if (text_columns(figures->items[i].label) > n_label)
			n_label = text_columns(figures->items[i].label);
		if (strlen(value) > n_value)
			n_value = strlen(value);
	}
	*ret_n_label = n_label;
	*ret_n_value = n_value;
}

int figures_table(const struct figures *figures, bool colour, char **ret_table)
{
	char value[TEXT_NUMBER_SIZE];
	char *table = NULL;
	size_t size = 0;
	size_t n_label, n_value;
	FILE *stream = open_memstream(&table, &size);

	if (!stream)
		return -ENOMEM;
	measure(figures, &n_label, &n_value);
	for (uint32_t i = 0; i < figures->n_items; i++) {
		const struct runner_figure *figure = &figures->items[i];
		bool red = colour && is_bad(figure);

		if (!(figure->flags & RUNNER_FIGURE_SUMMARY))
			continue;
		figures_value(figure, value);
		fprintf(stream, "%s%c %s%*s  %*s%s\n", red ? "\033[31m" : "", is_bad(figure) ? '!' : ' ',
		        figure->label, (int)(n_label - text_columns(figure->label)), "", (int)n_value, value,
		        red ? "\033[0m" : "");
	}
	if (fclose(stream)) {
		free(table);
		return -ENOMEM;
	}
	*ret_table = table;
	return 0;
}
