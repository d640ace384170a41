/* commands.c: from profiles to output. */
#include "memstacks/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "export/export.h"
#include "memstacks/output.h"
#include "memstacks/progress.h"
#include "memstacks/status.h"
#include "report/diff.h"
#include "report/report.h"
#include "util/cleanup.h"

/* Bytes of a function's name in text, unless --full-names. */
#define MAX_NAME 110

/* While a command runs. */
struct run {
	const struct options *options;
	struct progress progress;
	struct string_pool *strings;
	struct profile *profiles[2];
	struct gate_result *results;
};

static void write_log(void *context, unsigned level, const char *text)
{
	struct run *run = context;

	if (level > LOG_LEVEL_WARNING || run->options->quiet)
		return;
	progress_clear(&run->progress);
	fputs("memstacks: ", stderr);
	text_put(&(struct text_out){.out = stderr}, STYLE_PLAIN, text);
	fputc('\n', stderr);
}

static void complain(struct run *run, const char *what, const char *path, const char *why)
{
	const struct text_out text = {.out = stderr};

	progress_clear(&run->progress);
	fprintf(stderr, "memstacks: %s ", what);
	text_put(&text, STYLE_PLAIN, path);
	fprintf(stderr, ": %s\n", why);
}

static int complain_load(struct run *run, const char *path, int error)
{
	switch (error) {
	case -ECANCELED:
		return STATUS_INTERNAL;
	case -ENODATA:
		complain(run, "cannot read", path,
		        "no profile folder: it holds no results/<pid>.MemtrackArtifact.msgpack");
		return STATUS_UNREADABLE;
	case -ENOKEY:
		complain(run, "cannot read", path,
		        "it holds no benchmark of that URI; `memstacks report` lists those it holds");
		return STATUS_USAGE;
	case -ENOMEM:
		complain(run, "cannot read", path, "out of memory");
		return STATUS_INTERNAL;
	default:
		complain(run, "cannot read", path, strerror(-error));
		return STATUS_UNREADABLE;
	}
}

static int load(struct run *run, const char *path, struct profile **ret_profile)
{
	const struct log_sink log = {.write = write_log, .context = run};
	const struct profile_options options = {.fold = !run->options->no_fold,
	        .max_depth = run->options->max_frames,
	        .benchmark = run->options->benchmark,
	        .log = &log,
	        .progress = progress_step,
	        .progress_context = &run->progress};
	int error = profile_load(path, &options, run->strings, ret_profile);

	progress_clear(&run->progress);
	return error < 0 ? complain_load(run, path, error) : STATUS_OK;
}

static int complain_output(struct run *run, const char *path, int error)
{
	if (error == -ECANCELED)
		return STATUS_INTERNAL;
	complain(run, "cannot write", path ? path : "standard output", strerror(-error));
	return error == -ENOMEM ? STATUS_INTERNAL : STATUS_OUTPUT;
}

/* Writes to `path` by `write`, which fills the stream. */
static int write_output(struct run *run, const char *path, int (*write)(struct run *run, FILE *out))
{
	struct output output;
	int error = output_open(path, &output);

	if (error < 0)
		return complain_output(run, path, error);
	error = write(run, output.stream);
	progress_clear(&run->progress);
	if (!error && progress_signal())
		error = -ECANCELED;
	if (error < 0)
		output_abort(&output);
	else
		error = output_commit(&output);
	return error < 0 ? complain_output(run, path, error) : STATUS_OK;
}

static struct report_options report_options_of(const struct options *options)
{
	return (struct report_options){.top = options->top,
	        .max_depth = options->depth,
	        .max_name = options->full_names ? 0 : MAX_NAME,
	        .by_process = options->by_process};
}

static int write_report(struct run *run, FILE *out)
{
	const struct report_options options = report_options_of(run->options);
	const struct text_out text = {.out = out, .colour = run->options->colour};

	if (run->options->json)
		return report_json(run->profiles[0], &options, out);
	return report_text(run->profiles[0], &options, &text);
}

static int write_unresolved(struct run *run, FILE *out)
{
	const struct text_out text = {.out = out, .colour = run->options->colour};

	if (run->options->json)
		return unresolved_json(run->profiles[0], out);
	return unresolved_text(run->profiles[0], &text);
}

static struct export_options export_options_of(struct run *run)
{
	return (struct export_options){
	        .metric = run->options->metric < METRIC_N ? run->options->metric : METRIC_TOTAL,
	        .max_nodes = run->options->max_nodes,
	        .progress = progress_step,
	        .progress_context = &run->progress};
}

static int write_export(struct run *run, FILE *out)
{
	const struct export_options options = export_options_of(run);

	switch (run->options->format) {
	case FORMAT_FOLDED:
		return export_folded(run->profiles[0], &options, out);
	case FORMAT_PPROF:
		return export_pprof(run->profiles[0], &options, out);
	case FORMAT_SPEEDSCOPE:
		return export_speedscope(run->profiles[0], &options, out);
	case FORMAT_DHAT:
		return export_dhat(run->profiles[0], &options, out);
	default:
		return export_html(run->profiles[0], &options, out);
	}
}

static int with_diff(
        struct run *run, int (*use)(struct run *run, const struct diff *diff, FILE *out), FILE *out)
{
	struct diff diff;
	int error = diff_make(run->profiles[0], run->profiles[1], &diff);

	if (error < 0)
		return error;
	error = use(run, &diff, out);
	diff_deinit(&diff);
	return error;
}

static int diff_to_text(struct run *run, const struct diff *diff, FILE *out)
{
	const struct report_options options = report_options_of(run->options);
	const struct text_out text = {.out = out, .colour = run->options->colour};
	const struct options *given = run->options;

	for (size_t i = 0; i < given->n_gates; i++)
		diff_check(diff, &given->gates[i], &run->results[i]);
	if (given->json)
		return diff_json(diff, &options, given->gates, run->results, given->n_gates, out);
	return diff_text(diff, &options, given->gates, run->results, given->n_gates, &text);
}

static int diff_to_html(struct run *run, const struct diff *diff, FILE *out)
{
	const struct export_options options = export_options_of(run);

	return export_html_diff(diff, &options, out);
}

static int write_diff(struct run *run, FILE *out)
{
	return with_diff(run, diff_to_text, out);
}

static int write_diff_html(struct run *run, FILE *out)
{
	return with_diff(run, diff_to_html, out);
}

static int run_diff(struct run *run)
{
	const struct options *options = run->options;
	int status;

	run->results = calloc(options->n_gates + 1, sizeof(*run->results));
	if (!run->results)
		return STATUS_INTERNAL;
	status = write_output(run, NULL, write_diff);
	if (status == STATUS_OK && options->html)
		status = write_output(run, options->html, write_diff_html);
	if (status != STATUS_OK)
		return status;
	for (size_t i = 0; i < options->n_gates; i++) {
		if (run->results[i].failed)
			return STATUS_GATE_FAILED;
		if (!run->results[i].matched)
			status = STATUS_USAGE;
	}
	return status;
}

static int run_loaded(struct run *run)
{
	switch (run->options->command) {
	case COMMAND_REPORT:
		return write_output(run, NULL, write_report);
	case COMMAND_EXPORT:
		return write_output(run, run->options->output, write_export);
	case COMMAND_UNRESOLVED:
		return write_output(run, NULL, write_unresolved);
	default:
		return run_diff(run);
	}
}

/* A profile that is not whole is said on standard error too: exports have no place for it. */
static int note_partial(struct run *run, const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_problems; i++)
		complain(run, "partial recording", profile->path, profile->problems[i]);
	return profile->n_problems ? STATUS_PARTIAL : STATUS_OK;
}

int command_run(const struct options *options)
{
	struct run run = {.options = options};
	int status = STATUS_OK, partial = STATUS_OK;

	progress_init(&run.progress, options->quiet);
	if (string_pool_new(&run.strings) < 0)
		return STATUS_INTERNAL;
	for (size_t i = 0; i < 2 && options->profiles[i] && status == STATUS_OK; i++)
		status = load(&run, options->profiles[i], &run.profiles[i]);
	for (size_t i = 0; i < 2 && run.profiles[i]; i++)
		if (note_partial(&run, run.profiles[i]) != STATUS_OK)
			partial = STATUS_PARTIAL;
	if (status == STATUS_OK)
		status = run_loaded(&run);
	free(run.results);
	for (size_t i = 0; i < 2; i++)
		profile_free(run.profiles[i]);
	string_pool_free(run.strings);
	return status == STATUS_OK ? partial : status;
}
