/* report_text.c: the report for people. */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/coverage.h"
#include "report/number.h"
#include "report/rank.h"
#include "util/cleanup.h"

static void heading(const struct text_out *text, const char *title)
{
	fputc('\n', text->out);
	text_put(text, STYLE_HEADING, title);
	fputc('\n', text->out);
}

static void label(const struct text_out *text, const char *name)
{
	text_printf(text, STYLE_STRONG, "  %-11s", name);
}

void report_head(const struct profile *profile, const char *what, const struct text_out *text)
{
	text_put(text, STYLE_HEADING, what);
	fputs(" of ", text->out);
	text_put(text, STYLE_STRONG, profile->path);
	if (!profile->n_problems) {
		fputs(", a whole recording\n", text->out);
		return;
	}
	text_put(text, STYLE_BAD, ", PARTIAL");
	fputs(": the figures cover what could be read\n", text->out);
	for (size_t i = 0; i < profile->n_problems; i++) {
		text_put(text, STYLE_BAD, "  ! ");
		text_put(text, STYLE_PLAIN, profile->problems[i]);
		fputc('\n', text->out);
	}
}

static void write_notes(const struct profile *profile, const struct text_out *text)
{
	const struct facts *facts = &profile->facts;
	const struct heap_sums *sums = heap_paths_sums(profile->heap);
	char a[NUMBER_SIZE];

	for (size_t i = 0; i < facts->n_lost; i++) {
		fputs("  lost: ", text->out);
		text_put(text, STYLE_BAD, facts->lost[i].counter);
		fprintf(text->out, " %s\n", number_count(a, facts->lost[i].n));
	}
	for (size_t i = 0; i < facts->n_not_traced; i++) {
		text_put(text, STYLE_BAD, "  not traced: ");
		text_put(text, STYLE_PLAIN, facts->not_traced[i].path);
		fprintf(text->out, " in process %" PRIu32 ": ", facts->not_traced[i].pid);
		text_put(text, STYLE_PLAIN, facts->not_traced[i].reason);
		fputc('\n', text->out);
	}
	if (profile->n_unknown)
		fprintf(text->out, "  note: %s events of a type unknown to this version were skipped\n",
		        number_count(a, profile->n_unknown));
	if (sums->n_unseen_frees)
		fprintf(text->out, "  note: %s frees of blocks whose allocation was not recorded\n",
		        number_count(a, sums->n_unseen_frees));
	if (sums->n_over_live)
		fprintf(text->out,
		        "  note: %s allocations at the address of a live block, whose free was not "
		        "recorded\n",
		        number_count(a, sums->n_over_live));
}

static void write_stacks_line(const struct profile *profile, const struct text_out *text)
{
	struct coverage coverage;
	char a[NUMBER_SIZE], b[NUMBER_SIZE], c[NUMBER_SIZE];

	coverage_of(profile, &coverage);
	label(text, "stacks");
	fprintf(text->out, "%s distinct, %s call paths; ", number_count(a, profile->n_hashes),
	        number_count(b, profile->n_paths));
	fprintf(text->out, "%s of the allocations have one that reaches its first frame\n",
	        number_percent(c, coverage.n_whole, coverage.n_allocations));
}

static void write_lifetimes(const struct profile *profile, const struct text_out *text)
{
	static const char *const limits[HEAP_N_LIFETIMES] = {
	        "< 1 µs", "< 10 µs", "< 100 µs", "< 1 ms", "< 10 ms", "< 100 ms", "< 1 s", "≥ 1 s"};
	const struct heap_tally *sum = &profile->sum;
	char a[NUMBER_SIZE];

	label(text, "lifetimes");
	for (size_t i = 0; i < HEAP_N_LIFETIMES; i++)
		if (sum->lifetimes[i])
			fprintf(text->out, "%s: %s   ", limits[i],
			        number_percent(a, sum->lifetimes[i], sum->n_total));
	fprintf(text->out, "never freed: %s\n", number_percent(a, sum->n_leaked, sum->n_total));
}

static void write_peak(const struct profile *profile, const struct text_out *text)
{
	const struct heap_totals *totals = heap_paths_totals(profile->heap);
	char a[NUMBER_SIZE], b[NUMBER_SIZE], c[NUMBER_SIZE], d[NUMBER_SIZE];

	label(text, "peak");
	fprintf(text->out, "%s (%s bytes) live in %s blocks, %s after the start\n",
	        number_bytes(a, totals->peak_bytes), number_count(b, totals->peak_bytes),
	        number_count(c, totals->n_peak), number_duration(d, totals->peak_time - profile->begin));
}

static void write_summary(const struct profile *profile, const struct text_out *text)
{
	const struct heap_tally *sum = &profile->sum;
	char a[NUMBER_SIZE], b[NUMBER_SIZE], c[NUMBER_SIZE], d[NUMBER_SIZE];

	heading(text, "Summary");
	if (profile->benchmark != SIZE_MAX) {
		label(text, "benchmark");
		text_put(text, STYLE_PLAIN, profile->benchmarks.benchmarks[profile->benchmark].uri);
		fputs(" only\n", text->out);
	}
	label(text, "total");
	fprintf(text->out, "%s allocations of %s (%s bytes) in %s\n", number_count(a, sum->n_total),
	        number_bytes(b, sum->total_bytes), number_count(c, sum->total_bytes),
	        number_duration(d, profile->end - profile->begin));
	if (heap_paths_totals(profile->heap)->peak_bytes)
		write_peak(profile, text);
	label(text, "leak");
	fprintf(text->out, "%s in %s blocks never freed before their process ended\n",
	        number_bytes(a, sum->leaked_bytes), number_count(b, sum->n_leaked));
	label(text, "live");
	fprintf(text->out, "%s in %s blocks at the end of the recording\n", number_bytes(a, sum->live_bytes),
	        number_count(b, sum->n_live));
	label(text, "temporary");
	fprintf(text->out, "%s allocations (%s) of %s: freed by their thread before its next allocation\n",
	        number_count(a, sum->n_temporary), number_percent(b, sum->n_temporary, sum->n_total),
	        number_bytes(c, sum->temporary_bytes));
	write_lifetimes(profile, text);
	write_stacks_line(profile, text);
	write_notes(profile, text);
}

static int add_process_row(
        const struct profile *profile, struct text_table *table, size_t index, const struct heap_tally *tally)
{
	const struct heap_paths_process *process = heap_paths_process(profile->heap, index);
	const char *name = facts_process_name(&profile->facts, process->pid);
	char buffer[NUMBER_SIZE];
	int error;

	snprintf(buffer, sizeof(buffer), "%" PRIu32, process->pid);
	error = text_table_add(table, buffer);
	if (!error)
		error = text_table_add(table, name ? name : "?");
	if (!error)
		error = text_table_add(table, number_count(buffer, process->n_total));
	if (!error)
		error = text_table_add(table, number_bytes(buffer, process->total_bytes));
	if (!error)
		error = text_table_add(table, number_bytes(buffer, process->peak_bytes));
	if (!error)
		error = text_table_add(table,
		        process->peak_bytes ? number_duration(buffer, process->peak_time - profile->begin)
		                            : "-");
	if (!error)
		error = text_table_add(table, number_bytes(buffer, tally->peak_bytes));
	if (!error)
		error = text_table_add(table, number_bytes(buffer, tally->leaked_bytes));
	return error < 0 ? error : text_table_add(table, number_count(buffer, tally->n_temporary));
}

static int write_processes(const struct profile *profile, const struct text_out *text)
{
	static const char *const titles[] = {"pid", "name", "allocations", "total", "own peak",
	        "reached after", "at tree's peak", "leak", "temporary"};
	size_t n = heap_paths_n_processes(profile->heap), i;
	CLEANUP_FREE struct heap_tally *tallies = calloc(n + 1, sizeof(*tallies));
	struct text_table *table;
	int error;

	if (!tallies)
		return -ENOMEM;
	error = text_table_new(N_ELEMENTS(titles), 0x1fd, &table);
	if (error < 0)
		return error;
	for (i = 0; i < heap_paths_n_sites(profile->heap); i++) {
		const struct heap_site *site = heap_paths_site(profile->heap, i);

		heap_tally_add(&tallies[site->process], &site->tally);
	}
	for (i = 0; i < N_ELEMENTS(titles) && !error; i++)
		error = text_table_add(table, titles[i]);
	for (i = 0; i < n && !error; i++)
		error = add_process_row(profile, table, i, &tallies[i]);
	if (!error) {
		heading(text, "Processes");
		text_table_write(table, text, "  ");
	}
	text_table_free(table);
	return error;
}

static int add_benchmark_row(const struct profile *profile, struct text_table *table, size_t index)
{
	const struct benchmark *benchmark = &profile->benchmarks.benchmarks[index];
	const struct benchmark_sums *sums = &profile->benchmark_sums[index];
	char buffer[NUMBER_SIZE];
	int error;

	error = text_table_add(table, number_count(buffer, benchmark->n_windows));
	if (!error)
		error = text_table_add(table, number_duration(buffer, benchmark->duration));
	if (!error)
		error = text_table_add(table, number_count(buffer, sums->n_total));
	if (!error)
		error = text_table_add(table, number_bytes(buffer, sums->total_bytes));
	return error < 0 ? error : text_table_add(table, *benchmark->uri ? benchmark->uri : "(never named)");
}

static int write_benchmarks(const struct profile *profile, const struct text_out *text)
{
	static const char *const titles[] = {"samples", "time", "allocations", "total", "URI"};
	struct text_table *table;
	int error;

	if (!profile->benchmarks.n_benchmarks)
		return 0;
	error = text_table_new(N_ELEMENTS(titles), 0xf, &table);
	if (error < 0)
		return error;
	for (size_t i = 0; i < N_ELEMENTS(titles) && !error; i++)
		error = text_table_add(table, titles[i]);
	for (size_t i = 0; i < profile->benchmarks.n_benchmarks && !error; i++)
		error = add_benchmark_row(profile, table, i);
	if (!error) {
		heading(text, "Benchmarks (--benchmark URI counts one of them only)");
		text_table_write(table, text, "  ");
	}
	text_table_free(table);
	return error;
}

static void write_path_figures(
        const struct profile *profile, const struct heap_tally *tally, const struct text_out *text)
{
	const struct heap_tally *sum = &profile->sum;
	char a[NUMBER_SIZE], b[NUMBER_SIZE], c[NUMBER_SIZE];

	fprintf(text->out, "total %s (%s) in %s allocations", number_bytes(a, tally->total_bytes),
	        number_percent(b, tally->total_bytes, sum->total_bytes), number_count(c, tally->n_total));
	fprintf(text->out, "; peak %s (%s)", number_bytes(a, tally->peak_bytes),
	        number_percent(b, tally->peak_bytes, sum->peak_bytes));
	fprintf(text->out, "; leak %s in %s", number_bytes(a, tally->leaked_bytes),
	        number_count(b, tally->n_leaked));
	fprintf(text->out, "; temporary %s (%s)", number_count(a, tally->n_temporary),
	        number_percent(b, tally->n_temporary, tally->n_total));
	fprintf(text->out, "; mean lifetime %s\n",
	        number_duration(a, tally->n_total ? tally->lifetime / tally->n_total : 0));
}

/* One ranking. A call path that an earlier one showed is only referred to: numbers[path] is its number. */
static int write_ranking(const struct profile *profile, const struct report_options *options,
        enum metric metric, uint32_t *numbers, uint32_t *n_shown, const struct text_out *text)
{
	CLEANUP_FREE uint32_t *paths = NULL;
	char value[NUMBER_SIZE], share[NUMBER_SIZE];
	uint64_t whole = metric_of(metric, &profile->sum), own;
	size_t n, i;
	int error = rank_paths(profile, metric, &paths, &n);

	if (error < 0)
		return error;
	fputc('\n', text->out);
	text_printf(text, STYLE_HEADING, "Call paths by %s: %s", metric_name(metric), metric_text(metric));
	fputc('\n', text->out);
	if (!n)
		fputs("  none\n", text->out);
	for (i = 0; i < n && (!options->top || i < options->top); i++) {
		own = metric_of(metric, &profile->path_tallies[paths[i]]);
		if (metric_is_bytes(metric))
			number_bytes(value, own);
		else
			number_count(value, own);
		text_printf(text, STYLE_STRONG, "  %10s  %7s", value, number_percent(share, own, whole));
		if (numbers[paths[i]]) {
			fprintf(text->out, "  call path #%" PRIu32 ", above\n", numbers[paths[i]]);
			continue;
		}
		numbers[paths[i]] = ++*n_shown;
		fprintf(text->out, "  call path #%" PRIu32 "\n      ", *n_shown);
		write_path_figures(profile, &profile->path_tallies[paths[i]], text);
		report_frames(profile, paths[i], options, text);
	}
	if (i < n)
		text_printf(text, STYLE_DIM, "  … %zu more call paths (--top N shows more)\n", n - i);
	return 0;
}

static int write_rankings(
        const struct profile *profile, const struct report_options *options, const struct text_out *text)
{
	static const enum metric metrics[] = {METRIC_TOTAL, METRIC_PEAK, METRIC_LEAK, METRIC_TEMPORARY};
	CLEANUP_FREE uint32_t *numbers = calloc(stacks_n_paths(profile->stacks) + 1, sizeof(*numbers));
	uint32_t n_shown = 0;
	int error = 0;

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < N_ELEMENTS(metrics) && !error; i++)
		error = write_ranking(profile, options, metrics[i], numbers, &n_shown, text);
	return error;
}

/* The call paths of one process, pairs[0] to pairs[n - 1], at its own peak. */
static void write_process_paths(const struct profile *profile, const struct report_options *options,
        const struct process_path *pairs, size_t n, const struct text_out *text)
{
	const struct heap_paths_process *process = heap_paths_process(profile->heap, pairs[0].process);
	const char *name = facts_process_name(&profile->facts, process->pid);
	char value[NUMBER_SIZE], share[NUMBER_SIZE];

	fputc('\n', text->out);
	text_printf(text, STYLE_HEADING, "Call paths at the own peak of process %" PRIu32 " (", process->pid);
	text_put(text, STYLE_HEADING, name ? name : "?");
	text_printf(
	        text, STYLE_HEADING, "): bytes live when %s were", number_bytes(value, process->peak_bytes));
	fputc('\n', text->out);
	for (size_t i = 0; i < n && (!options->top || i < options->top); i++) {
		if (!pairs[i].tally.own_peak_bytes)
			break;
		text_printf(text, STYLE_STRONG, "  %10s  %7s  in ",
		        number_bytes(value, pairs[i].tally.own_peak_bytes),
		        number_percent(share, pairs[i].tally.own_peak_bytes, process->peak_bytes));
		fprintf(text->out, "%s blocks\n", number_count(value, pairs[i].tally.n_own_peak));
		report_frames(profile, pairs[i].path, options, text);
	}
}

static int write_by_process(
        const struct profile *profile, const struct report_options *options, const struct text_out *text)
{
	CLEANUP_FREE struct process_path *pairs = NULL;
	size_t n, i, first;
	int error = rank_process_paths(profile, &pairs, &n);

	if (error < 0)
		return error;
	for (first = 0; first < n; first = i) {
		for (i = first; i < n && pairs[i].process == pairs[first].process; i++)
			;
		write_process_paths(profile, options, &pairs[first], i - first, text);
	}
	return 0;
}

int report_text(
        const struct profile *profile, const struct report_options *options, const struct text_out *text)
{
	int error;

	report_head(profile, "Report", text);
	write_summary(profile, text);
	error = write_processes(profile, text);
	if (!error)
		error = write_benchmarks(profile, text);
	if (!error)
		error = write_rankings(profile, options, text);
	if (!error && options->by_process)
		error = write_by_process(profile, options, text);
	return error;
}
