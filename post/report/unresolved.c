/* unresolved.c: what could not be unwound or named, and why. */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/coverage.h"
#include "report/json_writer.h"
#include "report/number.h"
#include "util/cleanup.h"

static void write_line(const struct text_out *text, const char *what, uint64_t n, uint64_t whole)
{
	char a[NUMBER_SIZE], b[NUMBER_SIZE];

	fprintf(text->out, "  %14s  %8s  %s\n", number_count(a, n), number_percent(b, n, whole), what);
}

static void write_overview(const struct coverage *coverage, const struct text_out *text)
{
	uint64_t all = coverage->n_allocations;

	text_printf(text, STYLE_HEADING, "\nAllocations by how far their stack goes\n");
	write_line(text, "reach the first frame of their process or thread", coverage->n_whole, all);
	for (size_t i = 0; i < STACK_END_N; i++)
		if (i != STACK_END_BASE && coverage->n_by_end[i])
			write_line(text, stack_end_text(i), coverage->n_by_end[i], all);
	if (coverage->n_no_stack)
		write_line(text, "were recorded without a stack", coverage->n_no_stack, all);
	if (coverage->n_undefined)
		write_line(text, "name a stack that is never defined", coverage->n_undefined, all);
	if (coverage->n_unresolved)
		write_line(text, "could not be unwound without usable metadata", coverage->n_unresolved, all);
	if (coverage->n_stitched)
		write_line(text, "of all go on by frame pointers where the unwind rules end (stitched)",
		        coverage->n_stitched, all);
	if (coverage->n_unnamed)
		write_line(text, "of those that reach the first frame hold a frame without a name",
		        coverage->n_unnamed, all);
}

static int write_stops(const struct profile *profile, uint64_t all, const struct text_out *text)
{
	CLEANUP_FREE struct coverage_stop *stops = NULL;
	char a[NUMBER_SIZE], b[NUMBER_SIZE];
	const char *module;
	size_t n;
	int error = coverage_stops(profile, &stops, &n);

	if (error < 0 || !n)
		return error;
	text_printf(text, STYLE_HEADING, "\nWhere stacks end early\n");
	for (size_t i = 0; i < n; i++) {
		module = string_pool_get(profile->strings, stops[i].module);
		fprintf(text->out, "  %14s  %8s  ", number_count(a, stops[i].n_allocations),
		        number_percent(b, stops[i].n_allocations, all));
		text_put(text, STYLE_PLAIN, *module ? module : "[code outside any file]");
		fprintf(text->out, ": %s (%s stacks, one at 0x%" PRIx64 ")\n", stack_end_text(stops[i].end),
		        number_count(a, stops[i].n_stacks), stops[i].address);
	}
	return 0;
}

/* Why the capture could not read a module, or NULL. */
static const char *find_reason(const struct profile *profile, const char *module)
{
	const struct facts *facts = &profile->facts;

	for (size_t i = 0; i < facts->n_unreadable; i++)
		if (strcmp(facts->unreadable[i].path, module) == 0)
			return facts->unreadable[i].reason;
	return NULL;
}

static int write_unnamed(const struct profile *profile, uint64_t all, const struct text_out *text)
{
	CLEANUP_FREE struct coverage_unnamed *modules = NULL;
	char a[NUMBER_SIZE], b[NUMBER_SIZE];
	const char *module, *reason;
	size_t n;
	int error = coverage_unnamed(profile, &modules, &n);

	if (error < 0 || !n)
		return error;
	text_printf(text, STYLE_HEADING, "\nFrames without a name\n");
	for (size_t i = 0; i < n; i++) {
		module = string_pool_get(profile->strings, modules[i].module);
		fprintf(text->out, "  %14s  %8s  ", number_count(a, modules[i].n_allocations),
		        number_percent(b, modules[i].n_allocations, all));
		text_put(text, STYLE_PLAIN, *module ? module : "[code outside any file]");
		reason = find_reason(profile, module);
		if (!reason)
			reason = *module ? "no symbol covers them" : "no perf map names them";
		fprintf(text->out, ": %s places; ", number_count(a, modules[i].n_frames));
		text_put(text, STYLE_PLAIN, reason);
		fputc('\n', text->out);
	}
	return 0;
}

static void write_modules(const struct profile *profile, const struct text_out *text)
{
	const struct facts *facts = &profile->facts;

	if (facts->n_unreadable)
		text_printf(text, STYLE_HEADING, "\nModules that the recording could not read\n");
	for (size_t i = 0; i < facts->n_unreadable; i++) {
		fputs("  ", text->out);
		text_put(text, STYLE_PLAIN, facts->unreadable[i].path);
		fputs(": ", text->out);
		text_put(text, STYLE_PLAIN, facts->unreadable[i].reason);
		fputc('\n', text->out);
	}
	if (facts->n_not_traced)
		text_printf(text, STYLE_HEADING, "\nAllocators that were not traced\n");
	for (size_t i = 0; i < facts->n_not_traced; i++) {
		fputs("  ", text->out);
		text_put(text, STYLE_PLAIN, facts->not_traced[i].path);
		fprintf(text->out, " in process %" PRIu32 ": ", facts->not_traced[i].pid);
		text_put(text, STYLE_PLAIN, facts->not_traced[i].reason);
		fputc('\n', text->out);
	}
}

int unresolved_text(const struct profile *profile, const struct text_out *text)
{
	struct coverage coverage;
	int error;

	report_head(profile, "What could not be unwound or named", text);
	coverage_of(profile, &coverage);
	write_overview(&coverage, text);
	error = write_stops(profile, coverage.n_allocations, text);
	if (!error)
		error = write_unnamed(profile, coverage.n_allocations, text);
	write_modules(profile, text);
	return error;
}

static int json_stops(struct json_writer *json, const struct profile *profile)
{
	CLEANUP_FREE struct coverage_stop *stops = NULL;
	size_t n;
	int error = coverage_stops(profile, &stops, &n);

	if (error < 0)
		return error;
	json_put_key(json, "stops");
	json_begin_array(json);
	for (size_t i = 0; i < n; i++) {
		json_begin_object(json);
		json_member_string(json, "reason", stack_end_text(stops[i].end));
		json_member_string(json, "module", string_pool_get(profile->strings, stops[i].module));
		json_member_uint(json, "allocations", stops[i].n_allocations);
		json_member_uint(json, "stacks", stops[i].n_stacks);
		json_member_uint(json, "address", stops[i].address);
		json_end_object(json);
	}
	json_end_array(json);
	return 0;
}

static int json_unnamed(struct json_writer *json, const struct profile *profile)
{
	CLEANUP_FREE struct coverage_unnamed *modules = NULL;
	const char *module;
	size_t n;
	int error = coverage_unnamed(profile, &modules, &n);

	if (error < 0)
		return error;
	json_put_key(json, "unnamed");
	json_begin_array(json);
	for (size_t i = 0; i < n; i++) {
		module = string_pool_get(profile->strings, modules[i].module);
		json_begin_object(json);
		json_member_string(json, "module", module);
		json_member_string(json, "reason", find_reason(profile, module));
		json_member_uint(json, "places", modules[i].n_frames);
		json_member_uint(json, "allocations", modules[i].n_allocations);
		json_end_object(json);
	}
	json_end_array(json);
	return 0;
}

static void json_unreadable(struct json_writer *json, const struct facts *facts)
{
	json_put_key(json, "unreadable");
	json_begin_array(json);
	for (size_t i = 0; i < facts->n_unreadable; i++) {
		json_begin_object(json);
		json_member_string(json, "module", facts->unreadable[i].path);
		json_member_string(json, "reason", facts->unreadable[i].reason);
		json_end_object(json);
	}
	json_end_array(json);
}

int unresolved_json(const struct profile *profile, FILE *out)
{
	struct coverage coverage;
	struct json_writer json;
	int error;

	coverage_of(profile, &coverage);
	json_writer_init(&json, out, true);
	json_begin_object(&json);
	json_member_uint(&json, "allocations", coverage.n_allocations);
	json_member_uint(&json, "whole", coverage.n_whole);
	json_member_uint(&json, "no-stack", coverage.n_no_stack);
	json_member_uint(&json, "undefined", coverage.n_undefined);
	json_member_uint(&json, "without-metadata", coverage.n_unresolved);
	json_member_uint(&json, "stitched", coverage.n_stitched);
	json_member_uint(&json, "whole-with-unnamed-frames", coverage.n_unnamed);
	error = json_stops(&json, profile);
	if (!error)
		error = json_unnamed(&json, profile);
	json_unreadable(&json, &profile->facts);
	json_end_object(&json);
	return error;
}
