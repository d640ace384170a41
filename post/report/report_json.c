/* report_json.c: the report for scripts. Every figure is an integer: bytes, blocks, or ns. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>

#include "report/coverage.h"
#include "report/json_writer.h"
#include "report/rank.h"
#include "util/cleanup.h"

/* Grows when a member changes its meaning or goes away. */
#define REPORT_VERSION 1

static void write_tally(struct json_writer *json, const struct heap_tally *tally)
{
	for (enum metric metric = 0; metric < METRIC_N; metric++)
		json_member_uint(json, metric_name(metric), metric_of(metric, tally));
	json_member_uint(json, "live", tally->live_bytes);
	json_member_uint(json, "live-count", tally->n_live);
	json_member_uint(json, "lifetime-ns", tally->lifetime);
	json_put_key(json, "lifetimes");
	json_begin_array(json);
	for (size_t i = 0; i < HEAP_N_LIFETIMES; i++)
		json_put_uint(json, tally->lifetimes[i]);
	json_end_array(json);
}

static void write_recording(struct json_writer *json, const struct profile *profile)
{
	const struct heap_totals *totals = heap_paths_totals(profile->heap);
	const struct heap_sums *sums = heap_paths_sums(profile->heap);

	json_member_uint(json, "begin-ns", profile->begin);
	json_member_uint(json, "end-ns", profile->end);
	json_member_uint(json, "peak-ns", totals->peak_time);
	json_member_uint(json, "events", profile->n_events);
	json_member_uint(json, "unknown-events", profile->n_unknown);
	json_member_uint(json, "malformed-events", profile->n_malformed);
	json_member_uint(json, "stack-definitions", profile->n_definitions);
	json_member_uint(json, "distinct-stacks", profile->n_hashes);
	json_member_uint(json, "call-path-count", profile->n_paths);
	json_member_uint(json, "frees", totals->n_freed);
	json_member_uint(json, "unseen-frees", sums->n_unseen_frees);
	json_member_uint(json, "allocations-over-live", sums->n_over_live);
}

static void write_problems(struct json_writer *json, const struct profile *profile)
{
	const struct facts *facts = &profile->facts;

	json_member_bool(json, "partial", profile->n_problems);
	json_put_key(json, "problems");
	json_begin_array(json);
	for (size_t i = 0; i < profile->n_problems; i++)
		json_put_string(json, profile->problems[i]);
	json_end_array(json);
	json_put_key(json, "lost");
	json_begin_object(json);
	for (size_t i = 0; i < facts->n_lost; i++)
		json_member_uint(json, facts->lost[i].counter, facts->lost[i].n);
	json_end_object(json);
	json_put_key(json, "not-traced");
	json_begin_array(json);
	for (size_t i = 0; i < facts->n_not_traced; i++) {
		json_begin_object(json);
		json_member_string(json, "path", facts->not_traced[i].path);
		json_member_uint(json, "pid", facts->not_traced[i].pid);
		json_member_string(json, "reason", facts->not_traced[i].reason);
		json_end_object(json);
	}
	json_end_array(json);
}

static void write_coverage(struct json_writer *json, const struct profile *profile)
{
	static const char *const ends[STACK_END_N] = {[STACK_END_BASE] = "whole",
	        [STACK_END_TRUNCATED] = "truncated",
	        [STACK_END_NO_MODULE] = "no-module",
	        [STACK_END_NO_UNWIND] = "no-unwind-data",
	        [STACK_END_UNREADABLE] = "unreadable",
	        [STACK_END_NO_PROGRESS] = "no-progress",
	        [STACK_END_DEPTH] = "depth",
	        [STACK_END_BAD_RULE] = "bad-rule"};
	struct coverage coverage;

	coverage_of(profile, &coverage);
	json_put_key(json, "allocations-by-stack");
	json_begin_object(json);
	for (size_t i = 0; i < STACK_END_N; i++)
		json_member_uint(json, ends[i], coverage.n_by_end[i]);
	json_member_uint(json, "no-stack", coverage.n_no_stack);
	json_member_uint(json, "undefined", coverage.n_undefined);
	json_member_uint(json, "without-metadata", coverage.n_unresolved);
	json_member_uint(json, "stitched", coverage.n_stitched);
	json_member_uint(json, "whole-with-unnamed-frames", coverage.n_unnamed);
	json_end_object(json);
}

static void write_frames(struct json_writer *json, const struct profile *profile, uint32_t path)
{
	uint32_t stack = stacks_path(profile->stacks, path)->stack, line = 0;
	const struct stack_frame *frame;
	const char *file, *module;

	json_put_key(json, "frames");
	json_begin_array(json);
	for (uint32_t i = 0; i < stacks_row(profile->stacks, stack)->n_frames; i++) {
		frame = stacks_frame(profile->stacks, stacks_frames(profile->stacks, stack)[i]);
		module = stacks_module(profile->stacks, frame->key);
		json_begin_object(json);
		json_member_string(json, "function", stacks_name(profile->stacks, frame->key));
		if (*module)
			json_member_string(json, "module", module);
		file = rank_path_line(profile, path, i, &line);
		if (file)
			json_member_string(json, "file", file);
		if (file && line)
			json_member_uint(json, "line", line);
		if (frame->inlined)
			json_member_bool(json, "inlined", true);
		json_end_object(json);
	}
	json_end_array(json);
}

static void write_process(
        struct json_writer *json, const struct profile *profile, size_t index, const struct heap_tally *tally)
{
	const struct heap_paths_process *process = heap_paths_process(profile->heap, index);

	json_begin_object(json);
	json_member_uint(json, "pid", process->pid);
	json_member_string(json, "name", facts_process_name(&profile->facts, process->pid));
	json_member_uint(json, "own-peak", process->peak_bytes);
	json_member_uint(json, "own-peak-ns", process->peak_time);
	json_member_uint(json, "frees", process->n_freed);
	write_tally(json, tally);
	json_end_object(json);
}

static int write_processes(struct json_writer *json, const struct profile *profile)
{
	size_t n = heap_paths_n_processes(profile->heap), i;
	CLEANUP_FREE struct heap_tally *tallies = calloc(n + 1, sizeof(*tallies));
	const struct heap_site *site;

	if (!tallies)
		return -ENOMEM;
	for (i = 0; i < heap_paths_n_sites(profile->heap); i++) {
		site = heap_paths_site(profile->heap, i);
		heap_tally_add(&tallies[site->process], &site->tally);
	}
	json_put_key(json, "processes");
	json_begin_array(json);
	for (i = 0; i < n; i++)
		write_process(json, profile, i, &tallies[i]);
	json_end_array(json);
	return 0;
}

static void write_benchmarks(struct json_writer *json, const struct profile *profile)
{
	const struct benchmarks *benchmarks = &profile->benchmarks;

	json_member_string(json, "benchmark",
	        profile->benchmark == SIZE_MAX ? NULL : benchmarks->benchmarks[profile->benchmark].uri);
	json_put_key(json, "benchmarks");
	json_begin_array(json);
	for (size_t i = 0; i < benchmarks->n_benchmarks; i++) {
		json_begin_object(json);
		json_member_string(json, "uri", benchmarks->benchmarks[i].uri);
		json_member_uint(json, "samples", benchmarks->benchmarks[i].n_windows);
		json_member_uint(json, "time-ns", benchmarks->benchmarks[i].duration);
		json_member_uint(json, "count", profile->benchmark_sums[i].n_total);
		json_member_uint(json, "total", profile->benchmark_sums[i].total_bytes);
		json_end_object(json);
	}
	json_end_array(json);
}

/* Marks the first `top` of the ranking by `metric`. */
static int choose(const struct profile *profile, enum metric metric, size_t top, bool *chosen)
{
	CLEANUP_FREE uint32_t *paths = NULL;
	size_t n;
	int error = rank_paths(profile, metric, &paths, &n);

	if (error < 0)
		return error;
	for (size_t i = 0; i < n && (!top || i < top); i++)
		chosen[paths[i]] = true;
	return 0;
}

/* The parts of a call path's tally that belong to single processes. */
static void write_path_processes(
        struct json_writer *json, const struct profile *profile, const struct process_path *pairs, size_t n)
{
	json_put_key(json, "processes");
	json_begin_array(json);
	for (size_t i = 0; i < n; i++) {
		const struct heap_tally *tally = &pairs[i].tally;

		json_begin_object(json);
		json_member_uint(json, "pid", heap_paths_process(profile->heap, pairs[i].process)->pid);
		json_member_uint(json, "total", tally->total_bytes);
		json_member_uint(json, "count", tally->n_total);
		json_member_uint(json, "peak", tally->peak_bytes);
		json_member_uint(json, "own-peak", tally->own_peak_bytes);
		json_member_uint(json, "leak", tally->leaked_bytes);
		json_end_object(json);
	}
	json_end_array(json);
}

static int compare_paths(const void *left, const void *right)
{
	const struct process_path *a = left, *b = right;

	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	return a->process < b->process ? -1 : a->process > b->process;
}

static int write_paths(struct json_writer *json, const struct profile *profile, size_t top)
{
	size_t n_paths = stacks_n_paths(profile->stacks), n_pairs = 0, first = 0, last;
	CLEANUP_FREE bool *chosen = calloc(n_paths + 1, sizeof(*chosen));
	CLEANUP_FREE struct process_path *pairs = NULL;
	int error = chosen ? 0 : -ENOMEM;

	for (enum metric metric = 0; metric < METRIC_N && !error; metric++)
		error = choose(profile, metric, top, chosen);
	if (!error)
		error = rank_process_paths(profile, &pairs, &n_pairs);
	if (error < 0)
		return error;
	qsort(pairs, n_pairs, sizeof(*pairs), compare_paths);
	json_put_key(json, "call-paths");
	json_begin_array(json);
	for (uint32_t path = 0; path < n_paths; path++, first = last) {
		for (last = first; last < n_pairs && pairs[last].path == path; last++)
			;
		if (!chosen[path])
			continue;
		json_begin_object(json);
		write_tally(json, &profile->path_tallies[path]);
		write_path_processes(json, profile, &pairs[first], last - first);
		write_frames(json, profile, path);
		json_end_object(json);
	}
	json_end_array(json);
	return 0;
}

int report_json(const struct profile *profile, const struct report_options *options, FILE *out)
{
	struct json_writer json;
	int error;

	json_writer_init(&json, out, true);
	json_begin_object(&json);
	json_member_uint(&json, "version", REPORT_VERSION);
	write_problems(&json, profile);
	json_member_string(&json, "arch", profile->facts.arch);
	json_member_string(&json, "integration", profile->facts.integration_name);
	write_recording(&json, profile);
	json_put_key(&json, "sum");
	json_begin_object(&json);
	write_tally(&json, &profile->sum);
	json_end_object(&json);
	write_coverage(&json, profile);
	write_benchmarks(&json, profile);
	error = write_processes(&json, profile);
	if (!error)
		error = write_paths(&json, profile, options->top);
	json_end_object(&json);
	return error;
}
