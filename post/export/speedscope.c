/* speedscope.c: the file format that speedscope documents by its JSON schema. */
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>

#include "report/json_writer.h"
#include "util/cleanup.h"

static const enum metric metrics[] = {METRIC_TOTAL, METRIC_COUNT, METRIC_PEAK, METRIC_LEAK, METRIC_TEMPORARY};

/* A frame of the file is a key: lines would tear one function into many. */
static int write_frames(struct json_writer *json, const struct profile *profile)
{
	size_t n_keys = stacks_n_keys(profile->stacks);
	CLEANUP_FREE uint32_t *files = calloc(n_keys + 1, sizeof(*files));
	const struct stack_frame *frame;
	const char *file;

	if (!files)
		return -ENOMEM;
	for (uint32_t i = 0; i < stacks_n_frames(profile->stacks); i++) {
		frame = stacks_frame(profile->stacks, i);
		if (frame->file != STRING_EMPTY)
			files[frame->key] = frame->file;
	}
	json_put_key(json, "shared");
	json_begin_object(json);
	json_put_key(json, "frames");
	json_begin_array(json);
	for (uint32_t key = 0; key < n_keys; key++) {
		file = files[key] ? string_pool_get(profile->strings, files[key])
		                  : stacks_module(profile->stacks, key);
		json_begin_object(json);
		json_member_string(json, "name", stacks_name(profile->stacks, key));
		if (*file)
			json_member_string(json, "file", file);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
	return 0;
}

static void write_sample(struct json_writer *json, const struct profile *profile, uint32_t path)
{
	uint32_t stack = stacks_path(profile->stacks, path)->stack;
	const uint32_t *frames = stacks_frames(profile->stacks, stack);

	json_begin_array(json);
	for (uint32_t i = stacks_row(profile->stacks, stack)->n_frames; i-- > 0;)
		json_put_uint(json, stacks_frame(profile->stacks, frames[i])->key);
	json_end_array(json);
}

static int write_profile(struct json_writer *json, const struct profile *profile,
        const struct export_options *options, enum metric metric)
{
	size_t n = stacks_n_paths(profile->stacks);
	int error = 0;

	json_begin_object(json);
	json_member_string(json, "type", "sampled");
	json_member_string(json, "name", metric_text(metric));
	json_member_string(json, "unit", metric_is_bytes(metric) ? "bytes" : "none");
	json_member_uint(json, "startValue", 0);
	json_member_uint(json, "endValue", metric_of(metric, &profile->sum));
	json_put_key(json, "samples");
	json_begin_array(json);
	for (uint32_t path = 0; path < n && !error; path++) {
		if (metric_of(metric, &profile->path_tallies[path]))
			write_sample(json, profile, path);
		error = export_step(options, "writing", path, n);
	}
	json_end_array(json);
	json_put_key(json, "weights");
	json_begin_array(json);
	for (uint32_t path = 0; path < n; path++)
		if (metric_of(metric, &profile->path_tallies[path]))
			json_put_uint(json, metric_of(metric, &profile->path_tallies[path]));
	json_end_array(json);
	json_end_object(json);
	return error;
}

int export_speedscope(const struct profile *profile, const struct export_options *options, FILE *out)
{
	struct json_writer json;
	int error;

	json_writer_init(&json, out, false);
	json_begin_object(&json);
	json_member_string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_member_string(&json, "name", profile->path);
	json_member_string(&json, "exporter", "memstacks");
	json_member_uint(&json, "activeProfileIndex", 0);
	error = write_frames(&json, profile);
	json_put_key(&json, "profiles");
	json_begin_array(&json);
	for (size_t i = 0; i < N_ELEMENTS(metrics) && !error; i++)
		error = write_profile(&json, profile, options, metrics[i]);
	json_end_array(&json);
	json_end_object(&json);
	putc('\n', out);
	return error;
}
