/* dhat.c: what DHAT's viewer reads (file version 2).
 *
 * A program point is a distinct stack with its lines, over all processes. The unit of time is the ns, with
 * the ms as the million of it.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/json_writer.h"
#include "util/cleanup.h"

/* Mean lifetimes below this are called short by the viewer. */
#define SHORT_LIFETIME_NS 10000

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int write_frame(struct json_writer *json, const struct profile *profile, uint32_t index)
{
	const struct stack_frame *frame = stacks_frame(profile->stacks, index);
	const char *name = stacks_name(profile->stacks, frame->key);
	const char *module = stacks_module(profile->stacks, frame->key);
	CLEANUP_FREE char *text = NULL;
	int n;

	if (frame->made_up)
		n = asprintf(&text, "%s", name);
	else if (frame->file != STRING_EMPTY)
		n = asprintf(&text, "0x%" PRIX64 ": %s (%s:%" PRIu32 ")", frame->svma, name,
		        last_component(string_pool_get(profile->strings, frame->file)), frame->line);
	else if (*module)
		n = asprintf(&text, "0x%" PRIX64 ": %s (in %s)", frame->svma, name, module);
	else
		n = asprintf(&text, "0x%" PRIX64 ": %s", frame->svma, name);
	if (n < 0) {
		text = NULL;
		return -ENOMEM;
	}
	json_put_string(json, text);
	return 0;
}

static void write_point(struct json_writer *json, const struct profile *profile, uint32_t stack)
{
	const struct heap_tally *tally = &profile->stack_tallies[stack];
	const struct heap_stack_peak *most = heap_paths_stack_peak(profile->heap, stack);
	const uint32_t *frames = stacks_frames(profile->stacks, stack);

	json_begin_object(json);
	json_member_uint(json, "tb", tally->total_bytes);
	json_member_uint(json, "tbk", tally->n_total);
	json_member_uint(json, "tl", tally->lifetime);
	json_member_uint(json, "mb", most->bytes);
	json_member_uint(json, "mbk", most->n_blocks);
	json_member_uint(json, "gb", tally->peak_bytes);
	json_member_uint(json, "gbk", tally->n_peak);
	json_member_uint(json, "eb", tally->leaked_bytes);
	json_member_uint(json, "ebk", tally->n_leaked);
	json_put_key(json, "fs");
	json_begin_array(json);
	for (uint32_t i = 0; i < stacks_row(profile->stacks, stack)->n_frames; i++)
		json_put_uint(json, (uint64_t)frames[i] + 1); /* 0 is the root */
	json_end_array(json);
	json_end_object(json);
}

static void write_head(struct json_writer *json, const struct profile *profile)
{
	const struct heap_totals *totals = heap_paths_totals(profile->heap);
	uint32_t pid = heap_paths_n_processes(profile->heap) ? heap_paths_process(profile->heap, 0)->pid : 0;
	const char *name = facts_process_name(&profile->facts, pid);

	json_member_uint(json, "dhatFileVersion", 2);
	json_member_string(json, "mode", "heap");
	json_member_string(json, "verb", "Allocated");
	json_member_bool(json, "bklt", true);
	json_member_bool(json, "bkacc", false);
	json_member_string(json, "tu", "ns");
	json_member_string(json, "Mtu", "ms");
	json_member_uint(json, "tuth", SHORT_LIFETIME_NS);
	json_member_string(json, "cmd", name ? name : profile->path);
	json_member_uint(json, "pid", pid);
	json_member_uint(json, "tg", totals->peak_bytes ? totals->peak_time - profile->begin : 0);
	json_member_uint(json, "te", profile->end - profile->begin);
}

int export_dhat(const struct profile *profile, const struct export_options *options, FILE *out)
{
	size_t n_stacks = stacks_count(profile->stacks), n_frames = stacks_n_frames(profile->stacks);
	struct json_writer json;
	int error = 0;

	json_writer_init(&json, out, false);
	json_begin_object(&json);
	write_head(&json, profile);
	json_put_key(&json, "pps");
	json_begin_array(&json);
	for (uint32_t i = 0; i < n_stacks && !error; i++) {
		if (profile->stack_tallies[i].n_total)
			write_point(&json, profile, i);
		error = export_step(options, "writing", i, n_stacks);
	}
	json_end_array(&json);
	json_put_key(&json, "ftbl");
	json_begin_array(&json);
	json_put_string(&json, "[root]");
	for (uint32_t i = 0; i < n_frames && !error; i++)
		error = write_frame(&json, profile, i);
	json_end_array(&json);
	json_end_object(&json);
	putc('\n', out);
	return error;
}
