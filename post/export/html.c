/* html.c: one page: style, script and data, all inside.
 *
 * The data is one JSON object in a <script type="application/json">; the page's script reads it. Nodes are
 * columns of numbers, and their names numbers of strings, so that the page stays small.
 */
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/page.h"
#include "export/tree.h"
#include "report/json_writer.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map64.h"

#define DEFAULT_MAX_NODES 100000

static const enum metric metrics[] = {METRIC_PEAK, METRIC_TOTAL, METRIC_COUNT, METRIC_LEAK, METRIC_TEMPORARY};

#define N_METRICS N_ELEMENTS(metrics)

/* Names are written in order of first use. */
struct names {
	struct map64 index_by_string;
	uint32_t *strings;
	size_t n, n_allocated;
};

static int find_name(struct names *names, uint32_t string, uint32_t *ret_index)
{
	int error;

	*ret_index = map64_find(&names->index_by_string, string);
	if (*ret_index != MAP64_NONE)
		return 0;
	*ret_index = (uint32_t)names->n;
	error = GROW_BY_ONE(names->strings, names->n_allocated, names->n);
	if (!error)
		error = map64_set(&names->index_by_string, string, *ret_index);
	if (!error)
		names->strings[names->n++] = string;
	return error;
}

static void write_metrics(
        struct json_writer *json, const struct heap_tally *old, const struct heap_tally *new)
{
	json_put_key(json, "metrics");
	json_begin_array(json);
	for (size_t i = 0; i < N_METRICS; i++) {
		json_begin_object(json);
		json_member_string(json, "name", metric_name(metrics[i]));
		json_member_string(json, "text", metric_text(metrics[i]));
		json_member_bool(json, "bytes", metric_is_bytes(metrics[i]));
		json_member_uint(json, "whole", metric_of(metrics[i], new));
		if (old)
			json_member_uint(json, "old", metric_of(metrics[i], old));
		json_end_object(json);
	}
	json_end_array(json);
}

static void write_timeline(struct json_writer *json, const struct profile *profile)
{
	const struct heap_timeline *timeline = heap_paths_timeline(profile->heap);
	const struct heap_totals *totals = heap_paths_totals(profile->heap);

	json_begin_object(json);
	json_member_uint(json, "width", timeline->width);
	json_member_uint(json, "time", profile->end - profile->begin);
	json_member_uint(json, "peak", totals->peak_bytes);
	json_member_uint(json, "peakTime", totals->peak_bytes ? totals->peak_time - profile->begin : 0);
	json_put_key(json, "highest");
	json_begin_array(json);
	for (size_t i = 0; i < HEAP_N_SLICES; i++)
		json_put_uint(json, timeline->slices[i].highest);
	json_end_array(json);
	json_end_object(json);
}

static void write_problems(struct json_writer *json, const struct profile *profile)
{
	for (size_t i = 0; profile && i < profile->n_problems; i++)
		json_put_string(json, profile->problems[i]);
}

static void write_columns(struct json_writer *json, const struct tree *tree, size_t n_columns)
{
	size_t n = tree_n_nodes(tree);

	json_put_key(json, "parents");
	json_begin_array(json);
	for (uint32_t i = 1; i < n; i++)
		json_put_uint(json, tree_node(tree, i)->parent);
	json_end_array(json);
	json_put_key(json, "values");
	json_begin_array(json);
	for (size_t column = 0; column < n_columns; column++) {
		json_begin_array(json);
		for (uint32_t i = 0; i < n; i++)
			json_put_uint(json, tree_values(tree, i)[column]);
		json_end_array(json);
	}
	json_end_array(json);
}

/* What the labels of the tree mean: keys of `stacks`, or strings where it is NULL. */
static int write_names(struct json_writer *json, const struct tree *tree, const struct stacks *stacks,
        const struct string_pool *strings)
{
	static const char *const titles[] = {"names", "modules"};
	struct names names = {0};
	uint32_t label, string, index;
	int error = 0;

	for (size_t what = 0; what < (stacks ? 2 : 1); what++) {
		json_put_key(json, titles[what]);
		json_begin_array(json);
		for (uint32_t i = 1; i < tree_n_nodes(tree) && !error; i++) {
			label = tree_node(tree, i)->label;
			string = !stacks ? label
			         : what  ? stacks_key(stacks, label)->module
			                 : stacks_key(stacks, label)->name;
			error = find_name(&names, string, &index);
			json_put_uint(json, index);
		}
		json_end_array(json);
	}
	json_put_key(json, "strings");
	json_begin_array(json);
	for (size_t i = 0; i < names.n; i++)
		json_put_string(json, string_pool_get(strings, names.strings[i]));
	json_end_array(json);
	map64_deinit(&names.index_by_string);
	free(names.strings);
	return error;
}

/* Prunes, and says so. */
static int write_nodes(struct json_writer *json, struct tree *tree, size_t n_columns, size_t max_nodes,
        const struct stacks *stacks, const struct string_pool *strings)
{
	size_t n_all = tree_n_nodes(tree);
	double share;
	char text[32];
	int64_t n_pruned = tree_prune(tree, max_nodes ? max_nodes : DEFAULT_MAX_NODES, &share);

	if (n_pruned < 0)
		return (int)n_pruned;
	json_put_key(json, "pruned");
	json_begin_object(json);
	json_member_uint(json, "nodes", (uint64_t)n_pruned);
	json_member_uint(json, "all", n_all - 1);
	snprintf(text, sizeof(text), "%.3g", share * 100);
	json_member_string(json, "percent", text);
	json_end_object(json);
	write_columns(json, tree, n_columns);
	return write_names(json, tree, stacks, strings);
}

static void begin_page(struct json_writer *json, FILE *out)
{
	fwrite(page_head, 1, page_head_size, out);
	json_writer_init(json, out, false);
	json_begin_object(json);
}

static void end_page(struct json_writer *json, FILE *out)
{
	json_end_object(json);
	fwrite(page_tail, 1, page_tail_size, out);
}

static int plant_profile(
        const struct profile *profile, const struct export_options *options, struct tree *tree)
{
	CLEANUP_FREE uint32_t *labels = NULL;
	size_t n_allocated = 0, n_paths = stacks_n_paths(profile->stacks);
	const uint32_t *frames;
	uint64_t values[N_METRICS];
	uint32_t stack, n;
	int error = 0;

	for (uint32_t path = 0; path < n_paths && !error; path++) {
		if (!profile->path_tallies[path].n_total)
			continue;
		stack = stacks_path(profile->stacks, path)->stack;
		frames = stacks_frames(profile->stacks, stack);
		n = stacks_row(profile->stacks, stack)->n_frames;
		error = grow_array(&labels, &n_allocated, n, sizeof(*labels));
		for (uint32_t i = 0; i < n && !error; i++)
			labels[i] = stacks_frame(profile->stacks, frames[i])->key;
		for (size_t i = 0; i < N_METRICS; i++)
			values[i] = metric_of(metrics[i], &profile->path_tallies[path]);
		if (!error)
			error = tree_add(tree, labels, n, values);
		if (!error)
			error = export_step(options, "building the graph", path, n_paths);
	}
	return error;
}

int export_html(const struct profile *profile, const struct export_options *options, FILE *out)
{
	struct json_writer json;
	struct tree *tree;
	int error = tree_new(N_METRICS, &tree);

	if (error < 0)
		return error;
	error = plant_profile(profile, options, tree);
	if (!error) {
		begin_page(&json, out);
		json_member_string(&json, "mode", "profile");
		json_member_string(&json, "title", profile->path);
		json_member_string(&json, "benchmark",
		        profile->benchmark == SIZE_MAX
		                ? NULL
		                : profile->benchmarks.benchmarks[profile->benchmark].uri);
		json_put_key(&json, "problems");
		json_begin_array(&json);
		write_problems(&json, profile);
		json_end_array(&json);
		write_metrics(&json, NULL, &profile->sum);
		json_put_key(&json, "timelines");
		json_begin_array(&json);
		write_timeline(&json, profile);
		json_end_array(&json);
		error = write_nodes(
		        &json, tree, N_METRICS, options->max_nodes, profile->stacks, profile->strings);
		end_page(&json, out);
	}
	tree_free(tree);
	return error;
}

/* The columns of a diff: all metrics of the old profile, then those of the new one. Labels are strings. */
static int plant_diff(const struct diff *diff, const struct export_options *options, struct tree *tree)
{
	CLEANUP_FREE uint32_t *labels = NULL;
	size_t n_allocated = 0;
	uint64_t values[2 * N_METRICS];
	const struct diff_path *path;
	uint32_t n;
	int error = 0;

	for (size_t i = 0; i < diff->n_paths && !error; i++) {
		path = &diff->paths[i];
		n = diff_n_frames(diff, path);
		error = grow_array(&labels, &n_allocated, n, sizeof(*labels));
		for (uint32_t frame = 0; frame < n && !error; frame++)
			labels[frame] = diff_frame_string(diff, path, frame);
		for (size_t metric = 0; metric < N_METRICS; metric++) {
			values[metric] = metric_of(metrics[metric], &path->old);
			values[N_METRICS + metric] = metric_of(metrics[metric], &path->new);
		}
		if (!error)
			error = tree_add(tree, labels, n, values);
		if (!error)
			error = export_step(options, "building the graph", i, diff->n_paths);
	}
	return error;
}

int export_html_diff(const struct diff *diff, const struct export_options *options, FILE *out)
{
	struct json_writer json;
	struct tree *tree;
	int error = tree_new(2 * N_METRICS, &tree);

	if (error < 0)
		return error;
	error = plant_diff(diff, options, tree);
	if (!error) {
		begin_page(&json, out);
		json_member_string(&json, "mode", "diff");
		json_member_string(&json, "title", diff->new->path);
		json_member_string(&json, "oldTitle", diff->old->path);
		json_put_key(&json, "problems");
		json_begin_array(&json);
		write_problems(&json, diff->old);
		write_problems(&json, diff->new);
		json_end_array(&json);
		write_metrics(&json, &diff->old->sum, &diff->new->sum);
		json_put_key(&json, "timelines");
		json_begin_array(&json);
		write_timeline(&json, diff->new);
		write_timeline(&json, diff->old);
		json_end_array(&json);
		error = write_nodes(&json, tree, 2 * N_METRICS, options->max_nodes, NULL, diff->new->strings);
		end_page(&json, out);
	}
	tree_free(tree);
	return error;
}
