/* diff_text.c: a diff for people and for scripts. */
#include "report/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/json_writer.h"
#include "report/number.h"
#include "util/cleanup.h"

#define DIFF_VERSION 1

static const enum metric rankings[] = {
        METRIC_PEAK, METRIC_TOTAL, METRIC_COUNT, METRIC_LEAK, METRIC_TEMPORARY};

static const char *number_value(char buffer[NUMBER_SIZE], enum metric metric, uint64_t value)
{
	return metric_is_bytes(metric) ? number_bytes(buffer, value) : number_count(buffer, value);
}

/* Growth in percent; "new" where there was nothing. */
static const char *number_growth(char buffer[NUMBER_SIZE], uint64_t old, uint64_t new)
{
	if (old == new)
		return strcpy(buffer, "same");
	if (!old)
		return strcpy(buffer, "new");
	snprintf(buffer, NUMBER_SIZE, "%+.2f %%", ((double)new - (double)old) * 100 / (double)old);
	return buffer;
}

static int add_metric_row(struct text_table *table, enum metric metric, uint64_t old, uint64_t new)
{
	char buffer[NUMBER_SIZE];
	int error = text_table_add(table, metric_name(metric));

	if (!error)
		error = text_table_add(table, number_value(buffer, metric, old));
	if (!error)
		error = text_table_add(table, number_value(buffer, metric, new));
	if (!error)
		error = text_table_add(table, number_change(buffer, old, new, metric_is_bytes(metric)));
	if (!error)
		error = text_table_add(table, number_growth(buffer, old, new));
	return error < 0 ? error : text_table_add(table, metric_text(metric));
}

static int write_sums(const struct diff *diff, const struct text_out *text)
{
	static const char *const titles[] = {"metric", "old", "new", "change", "", "what it is"};
	struct text_table *table;
	int error = text_table_new(N_ELEMENTS(titles), 0x1e, &table);

	if (error < 0)
		return error;
	for (size_t i = 0; i < N_ELEMENTS(titles) && !error; i++)
		error = text_table_add(table, titles[i]);
	for (enum metric metric = 0; metric < METRIC_N && !error; metric++)
		error = add_metric_row(table, metric, metric_of(metric, &diff->old->sum),
		        metric_of(metric, &diff->new->sum));
	if (!error) {
		text_printf(text, STYLE_HEADING, "\nThe whole\n");
		text_table_write(table, text, "  ");
	}
	text_table_free(table);
	return error;
}

static void write_gates(
        const struct gate *gates, const struct gate_result *results, size_t n, const struct text_out *text)
{
	char a[NUMBER_SIZE], b[NUMBER_SIZE];

	if (n)
		text_printf(text, STYLE_HEADING, "\nGates\n");
	for (size_t i = 0; i < n; i++) {
		if (!results[i].matched)
			text_put(text, STYLE_BAD, "  NO MATCH  ");
		else if (results[i].failed)
			text_put(text, STYLE_BAD, "  FAILED  ");
		else
			text_put(text, STYLE_GOOD, "  passed  ");
		text_put(text, STYLE_STRONG, gates[i].text);
		if (results[i].matched)
			fprintf(text->out, ": %s → %s\n", number_value(a, gates[i].metric, results[i].old),
			        number_value(b, gates[i].metric, results[i].new));
		else
			fputs(": no call path of either profile holds this\n", text->out);
	}
}

static void write_path(const struct diff *diff, const struct diff_path *path,
        const struct report_options *options, const struct text_out *text)
{
	const struct profile *profile = path->path_new != STACKS_NONE ? diff->new : diff->old;
	uint32_t number = path->path_new != STACKS_NONE ? path->path_new : path->path_old;
	char a[NUMBER_SIZE], b[NUMBER_SIZE];

	fprintf(text->out, "peak %s → %s", number_bytes(a, path->old.peak_bytes),
	        number_bytes(b, path->new.peak_bytes));
	fprintf(text->out, "; total %s → %s", number_bytes(a, path->old.total_bytes),
	        number_bytes(b, path->new.total_bytes));
	fprintf(text->out, "; count %s → %s", number_count(a, path->old.n_total),
	        number_count(b, path->new.n_total));
	fprintf(text->out, "; leak %s → %s", number_bytes(a, path->old.leaked_bytes),
	        number_bytes(b, path->new.leaked_bytes));
	if (path->path_old == STACKS_NONE)
		fputs("; only in NEW", text->out);
	if (path->path_new == STACKS_NONE)
		fputs("; only in OLD", text->out);
	fputc('\n', text->out);
	report_frames(profile, number, options, text);
}

static int write_ranking(const struct diff *diff, const struct report_options *options, enum metric metric,
        uint32_t *numbers, uint32_t *n_shown, const struct text_out *text)
{
	CLEANUP_FREE uint32_t *paths = NULL;
	char change[NUMBER_SIZE], growth[NUMBER_SIZE];
	const struct diff_path *path;
	uint64_t old, new;
	size_t n, i;
	int error = diff_rank(diff, metric, &paths, &n);

	if (error < 0)
		return error;
	text_printf(text, STYLE_HEADING, "\nCall paths that moved by %s: %s\n", metric_name(metric),
	        metric_text(metric));
	if (!n)
		fputs("  none\n", text->out);
	for (i = 0; i < n && (!options->top || i < options->top); i++) {
		path = &diff->paths[paths[i]];
		old = metric_of(metric, &path->old);
		new = metric_of(metric, &path->new);
		text_printf(text, new > old ? STYLE_BAD : STYLE_GOOD, "  %11s  %10s",
		        number_change(change, old, new, metric_is_bytes(metric)),
		        number_growth(growth, old, new));
		if (numbers[paths[i]]) {
			fprintf(text->out, "  call path #%" PRIu32 ", above\n", numbers[paths[i]]);
			continue;
		}
		numbers[paths[i]] = ++*n_shown;
		fprintf(text->out, "  call path #%" PRIu32 "\n      ", *n_shown);
		write_path(diff, path, options, text);
	}
	if (i < n)
		text_printf(text, STYLE_DIM, "  … %zu more call paths (--top N shows more)\n", n - i);
	return 0;
}

int diff_text(const struct diff *diff, const struct report_options *options, const struct gate *gates,
        const struct gate_result *results, size_t n_gates, const struct text_out *text)
{
	CLEANUP_FREE uint32_t *numbers = calloc(diff->n_paths + 1, sizeof(*numbers));
	uint32_t n_shown = 0;
	int error;

	if (!numbers)
		return -ENOMEM;
	report_head(diff->old, "OLD: recording", text);
	report_head(diff->new, "NEW: recording", text);
	error = write_sums(diff, text);
	write_gates(gates, results, n_gates, text);
	for (size_t i = 0; i < N_ELEMENTS(rankings) && !error; i++)
		error = write_ranking(diff, options, rankings[i], numbers, &n_shown, text);
	return error;
}

static void json_metrics(struct json_writer *json, const struct heap_tally *old, const struct heap_tally *new)
{
	for (enum metric metric = 0; metric < METRIC_N; metric++) {
		json_put_key(json, metric_name(metric));
		json_begin_object(json);
		json_member_uint(json, "old", metric_of(metric, old));
		json_member_uint(json, "new", metric_of(metric, new));
		json_end_object(json);
	}
}

static void json_gates(
        struct json_writer *json, const struct gate *gates, const struct gate_result *results, size_t n)
{
	json_put_key(json, "gates");
	json_begin_array(json);
	for (size_t i = 0; i < n; i++) {
		json_begin_object(json);
		json_member_string(json, "gate", gates[i].text);
		json_member_bool(json, "matched", results[i].matched);
		json_member_bool(json, "failed", results[i].failed);
		json_member_uint(json, "old", results[i].old);
		json_member_uint(json, "new", results[i].new);
		json_end_object(json);
	}
	json_end_array(json);
}

static void json_path(struct json_writer *json, const struct diff *diff, const struct diff_path *path)
{
	json_begin_object(json);
	json_metrics(json, &path->old, &path->new);
	json_put_key(json, "frames");
	json_begin_array(json);
	for (uint32_t i = 0; i < diff_n_frames(diff, path); i++)
		json_put_string(json, diff_frame_name(diff, path, i));
	json_end_array(json);
	json_end_object(json);
}

int diff_json(const struct diff *diff, const struct report_options *options, const struct gate *gates,
        const struct gate_result *results, size_t n_gates, FILE *out)
{
	CLEANUP_FREE bool *chosen = calloc(diff->n_paths + 1, sizeof(*chosen));
	struct json_writer json;

	if (!chosen)
		return -ENOMEM;
	for (size_t i = 0; i < N_ELEMENTS(rankings); i++) {
		CLEANUP_FREE uint32_t *paths = NULL;
		size_t n;
		int error = diff_rank(diff, rankings[i], &paths, &n);

		if (error < 0)
			return error;
		for (size_t j = 0; j < n && (!options->top || j < options->top); j++)
			chosen[paths[j]] = true;
	}
	json_writer_init(&json, out, true);
	json_begin_object(&json);
	json_member_uint(&json, "version", DIFF_VERSION);
	json_member_bool(&json, "partial", diff->old->n_problems || diff->new->n_problems);
	json_put_key(&json, "sum");
	json_begin_object(&json);
	json_metrics(&json, &diff->old->sum, &diff->new->sum);
	json_end_object(&json);
	json_gates(&json, gates, results, n_gates);
	json_put_key(&json, "call-paths");
	json_begin_array(&json);
	for (size_t i = 0; i < diff->n_paths; i++)
		if (chosen[i])
			json_path(&json, diff, &diff->paths[i]);
	json_end_array(&json);
	json_end_object(&json);
	return 0;
}
