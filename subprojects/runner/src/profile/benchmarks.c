/* benchmarks.c: figures of benchmarks: read, and shown as a table. */
#include "profile/benchmarks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/hooks.h"
#include "term/figures.h"
#include "util/cleanup.h"
#include "util/text.h"

#define N_FIGURES_MAX 32u
#define N_LINES_MAX   50u /* of the table; summary.json has them all */
#define N_URI_COLUMNS 60u
#define N_VALUE_MIN   8 /* columns of a number */

void benchmarks_deinit(struct benchmarks *benchmarks)
{
	for (size_t i = 0; i < benchmarks->n; i++)
		free(benchmarks->uris[i]);
	free(benchmarks->uris);
	free(benchmarks->figures);
	*benchmarks = (struct benchmarks){0};
}

static int make_room(struct benchmarks *benchmarks)
{
	size_t n_room = benchmarks->n_room * 2 + 16;
	char **uris;
	struct runner_figure *figures;

	if (benchmarks->n < benchmarks->n_room)
		return 0;
	uris = reallocarray(benchmarks->uris, n_room, sizeof(*uris));
	if (!uris)
		return -ENOMEM;
	benchmarks->uris = uris;
	figures = reallocarray(benchmarks->figures, n_room, benchmarks->n_figures * sizeof(*figures));
	if (!figures)
		return -ENOMEM;
	benchmarks->figures = figures;
	benchmarks->n_room = n_room;
	return 0;
}

static bool are_sound(const struct benchmarks *benchmarks, const struct runner_figure *figures, int n)
{
	if (n > (int)N_FIGURES_MAX || (benchmarks->n && (uint32_t)n != benchmarks->n_figures))
		return false;
	for (int i = 0; i < n; i++)
		if (!figures[i].key || !figures[i].label)
			return false;
	return true;
}

static int append(struct benchmarks *benchmarks, const char *uri, const struct runner_figure *figures)
{
	int error = make_room(benchmarks);
	char *copy = error < 0 ? NULL : strdup(uri);

	if (!copy)
		return -ENOMEM;
	benchmarks->uris[benchmarks->n] = copy;
	memcpy(benchmarks->figures + benchmarks->n * benchmarks->n_figures, figures,
	        benchmarks->n_figures * sizeof(*figures));
	benchmarks->n++;
	return 0;
}

int benchmarks_read(struct benchmarks *benchmarks, const struct runner_plugin *api, void *state)
{
	struct runner_figure figures[N_FIGURES_MAX];
	int error = 0;

	while (PLUGIN_HAS(api, benchmark_figures) && error == 0) {
		const char *uri = NULL;
		int n = api->benchmark_figures(state, benchmarks->n, &uri, figures, N_FIGURES_MAX);

		if (n <= 0)
			return n;
		if (!uri || !are_sound(benchmarks, figures, n))
			return -EPROTO;
		benchmarks->n_figures = (uint32_t)n;
		error = append(benchmarks, uri, figures);
	}
	return error;
}

const struct runner_figure *benchmarks_figures(const struct benchmarks *benchmarks, size_t index)
{
	return benchmarks->figures + index * benchmarks->n_figures;
}

/* A URI as a table can show it. The caller frees it. */
static char *short_uri(const char *uri)
{
	char *text = text_utf8(*uri ? uri : "(never named)");

	if (!text)
		return NULL;
	text_defuse(text);
	text_fit(text, N_URI_COLUMNS);
	return text;
}

static void print_values(const struct benchmarks *benchmarks, size_t index, bool heading, FILE *stream)
{
	const struct runner_figure *figures = benchmarks_figures(benchmarks, index);
	char value[TEXT_NUMBER_SIZE];

	for (uint32_t i = 0; i < benchmarks->n_figures; i++) {
		int n_label = (int)text_columns(figures[i].label);

		if (!(figures[i].flags & RUNNER_FIGURE_SUMMARY))
			continue;
		figures_value(&figures[i], value);
		fprintf(stream, "  %*s", n_label > N_VALUE_MIN ? n_label : N_VALUE_MIN,
		        heading ? figures[i].label : value);
	}
	fputc('\n', stream);
}

static int print_line(
        const struct benchmarks *benchmarks, size_t index, size_t n_columns, bool heading, FILE *stream)
{
	char *uri CLEANUP_FREE = heading ? strdup("benchmark") : short_uri(benchmarks->uris[index]);

	if (!uri)
		return -ENOMEM;
	fprintf(stream, "  %s%*s", uri, (int)(n_columns - text_columns(uri)), "");
	print_values(benchmarks, index, heading, stream);
	return 0;
}

static int print_table(const struct benchmarks *benchmarks, FILE *stream)
{
	size_t n = benchmarks->n < N_LINES_MAX ? benchmarks->n : N_LINES_MAX;
	size_t n_columns = strlen("benchmark");
	char rest[TEXT_NUMBER_SIZE];
	int error;

	for (size_t i = 0; i < n; i++) {
		char *uri CLEANUP_FREE = short_uri(benchmarks->uris[i]);

		if (uri && text_columns(uri) > n_columns)
			n_columns = text_columns(uri);
	}
	error = print_line(benchmarks, 0, n_columns, true, stream);
	for (size_t i = 0; i < n && error == 0; i++)
		error = print_line(benchmarks, i, n_columns, false, stream);
	text_count(benchmarks->n - n, rest);
	if (benchmarks->n > n)
		fprintf(stream, "  … and %s more: summary.json has them all\n", rest);
	return error;
}

int benchmarks_table(const struct benchmarks *benchmarks, char **ret_table)
{
	char *table = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&table, &size);
	int error;

	if (!stream)
		return -ENOMEM;
	error = benchmarks->n ? print_table(benchmarks, stream) : 0;
	if (fclose(stream) || error < 0) {
		free(table);
		return -ENOMEM;
	}
	*ret_table = table;
	return 0;
}
