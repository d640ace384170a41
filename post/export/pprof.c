/* pprof.c: profile.proto.
 *
 * Messages of protobuf may be written in pieces: the parts of a repeated field add up. So the profile goes
 * out one sample, location, … at a time, and is never whole in memory.
 */
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/gzip.h"
#include "export/profile.pb-c.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map64.h"
#include "util/utf8.h"

#define N_VALUES 7

struct pprof {
	const struct profile *profile;
	const struct export_options *options;
	struct gzip *gzip;
	struct string_pool *strings; /* the string table */
	struct map64 functions;      /* key << 32 | file → id */
	struct map64 mappings;       /* module → id */
	struct map64 locations;      /* first frame << 32 | last frame → id */
	uint64_t *ids;               /* the locations of one stack */
	size_t n_ids_allocated;
	uint8_t *packed;
	size_t n_packed_allocated;
};

static int put(struct pprof *pprof, const Pprof__Profile *part)
{
	size_t n = pprof__profile__get_packed_size(part);
	int error = grow_array(&pprof->packed, &pprof->n_packed_allocated, n, 1);

	if (error < 0)
		return error;
	pprof__profile__pack(part, pprof->packed);
	return gzip_write(pprof->gzip, pprof->packed, n);
}

/* The number of a text in the string table, as valid UTF-8. */
static int add_text(struct pprof *pprof, const char *text, int64_t *ret_index)
{
	CLEANUP_FREE char *clean = utf8_clean(text, strlen(text));
	uint32_t index;
	int error;

	if (!clean)
		return -ENOMEM;
	error = string_pool_add(pprof->strings, clean, &index);
	if (!error)
		*ret_index = index;
	return error;
}

static int find_function(struct pprof *pprof, const struct stack_frame *frame, uint64_t *ret_id)
{
	const struct profile *profile = pprof->profile;
	uint64_t key = (uint64_t)frame->key << 32 | frame->file;
	uint32_t id = map64_find(&pprof->functions, key);
	Pprof__Function function = PPROF__FUNCTION__INIT;
	Pprof__Function *functions[] = {&function};
	Pprof__Profile part = PPROF__PROFILE__INIT;
	const char *name = stacks_name(profile->stacks, frame->key);
	int error;

	*ret_id = id;
	if (id != MAP64_NONE)
		return 0;
	*ret_id = function.id = map64_count(&pprof->functions) + 1;
	error = map64_set(&pprof->functions, key, (uint32_t)function.id);
	if (!error)
		error = add_text(pprof, name, &function.name);
	if (!error)
		error = add_text(pprof,
		        frame->symbol ? string_pool_get(profile->strings, frame->symbol) : name,
		        &function.system_name);
	if (!error)
		error = add_text(pprof, string_pool_get(profile->strings, frame->file), &function.filename);
	part.n_function = 1;
	part.function = functions;
	return error < 0 ? error : put(pprof, &part);
}

/* `innermost` and `frame` belong to one address; the latter is the function itself. */
static int put_location(struct pprof *pprof, uint64_t id, const uint32_t *frames, uint32_t n)
{
	CLEANUP_FREE Pprof__Line *lines = calloc(n, sizeof(*lines));
	CLEANUP_FREE Pprof__Line **line_ptrs = calloc(n, sizeof(*line_ptrs));
	Pprof__Location location = PPROF__LOCATION__INIT;
	Pprof__Location *locations[] = {&location};
	Pprof__Profile part = PPROF__PROFILE__INIT;
	const struct stack_frame *frame;
	uint32_t mapping;
	int error;

	if (!lines || !line_ptrs)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		frame = stacks_frame(pprof->profile->stacks, frames[i]);
		pprof__line__init(&lines[i]);
		lines[i].line = frame->line;
		line_ptrs[i] = &lines[i];
		error = find_function(pprof, frame, &lines[i].function_id);
		if (error < 0)
			return error;
	}
	frame = stacks_frame(pprof->profile->stacks, frames[n - 1]);
	mapping = map64_find(&pprof->mappings, stacks_key(pprof->profile->stacks, frame->key)->module);
	location.id = id;
	location.mapping_id = mapping == MAP64_NONE ? 0 : mapping;
	location.address = frame->svma;
	location.n_line = n;
	location.line = line_ptrs;
	part.n_location = 1;
	part.location = locations;
	return put(pprof, &part);
}

/* Fills pprof->ids with the locations of a stack, innermost first. */
static int find_locations(struct pprof *pprof, uint32_t stack, size_t *ret_n)
{
	const struct stacks *stacks = pprof->profile->stacks;
	const uint32_t *frames = stacks_frames(stacks, stack);
	uint32_t n_frames = stacks_row(stacks, stack)->n_frames, first, last, id;
	uint64_t key;
	size_t n = 0;
	int error = grow_array(&pprof->ids, &pprof->n_ids_allocated, n_frames, sizeof(*pprof->ids));

	for (first = 0; first < n_frames && !error; first = last + 1) {
		last = first;
		while (last + 1 < n_frames && stacks_frame(stacks, frames[last])->inlined)
			last++;
		key = (uint64_t)frames[first] << 32 | frames[last];
		id = map64_find(&pprof->locations, key);
		if (id == MAP64_NONE) {
			id = (uint32_t)map64_count(&pprof->locations) + 1;
			error = map64_set(&pprof->locations, key, id);
			if (!error)
				error = put_location(pprof, id, &frames[first], last - first + 1);
		}
		if (!error)
			pprof->ids[n++] = id;
	}
	*ret_n = n;
	return error;
}

static int put_sample(struct pprof *pprof, const struct heap_site *site)
{
	const struct profile *profile = pprof->profile;
	const struct heap_tally *tally = &site->tally;
	uint32_t pid = heap_paths_process(profile->heap, site->process)->pid;
	const char *name = facts_process_name(&profile->facts, pid);
	int64_t values[N_VALUES] = {(int64_t)tally->n_total, (int64_t)tally->total_bytes,
	        (int64_t)tally->n_leaked, (int64_t)tally->leaked_bytes, (int64_t)tally->n_peak,
	        (int64_t)tally->peak_bytes, (int64_t)tally->n_temporary};
	Pprof__Label pid_label = PPROF__LABEL__INIT, name_label = PPROF__LABEL__INIT;
	Pprof__Label *labels[] = {&pid_label, &name_label};
	Pprof__Sample sample = PPROF__SAMPLE__INIT;
	Pprof__Sample *samples[] = {&sample};
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int error = find_locations(pprof, site->stack, &sample.n_location_id);

	pid_label.num = pid;
	if (!error)
		error = add_text(pprof, "pid", &pid_label.key);
	if (!error)
		error = add_text(pprof, "process", &name_label.key);
	if (!error)
		error = add_text(pprof, name ? name : "?", &name_label.str);
	if (error < 0)
		return error;
	sample.location_id = pprof->ids;
	sample.n_value = N_VALUES;
	sample.value = values;
	sample.n_label = N_ELEMENTS(labels);
	sample.label = labels;
	part.n_sample = 1;
	part.sample = samples;
	return put(pprof, &part);
}

struct module_facts {
	uint32_t module;
	uint32_t build_id;
	uint64_t limit;
	bool has_files, has_inlined, has_main;
};

static int put_mapping(struct pprof *pprof, const struct module_facts *facts)
{
	Pprof__Mapping mapping = PPROF__MAPPING__INIT;
	Pprof__Mapping *mappings[] = {&mapping};
	Pprof__Profile part = PPROF__PROFILE__INIT;
	const struct string_pool *strings = pprof->profile->strings;
	int error;

	mapping.id = map64_count(&pprof->mappings) + 1;
	error = map64_set(&pprof->mappings, facts->module, (uint32_t)mapping.id);
	if (!error)
		error = add_text(pprof, string_pool_get(strings, facts->module), &mapping.filename);
	if (!error)
		error = add_text(pprof, string_pool_get(strings, facts->build_id), &mapping.build_id);
	/* Addresses are the file's own, so that nothing needs to be added or subtracted. */
	mapping.memory_limit = facts->limit;
	mapping.has_functions = true; /* or pprof would go and look for the file */
	mapping.has_filenames = mapping.has_line_numbers = facts->has_files;
	mapping.has_inline_frames = facts->has_inlined;
	part.n_mapping = 1;
	part.mapping = mappings;
	return error < 0 ? error : put(pprof, &part);
}

static void note_frame(
        struct module_facts *facts, const struct profile *profile, const struct stack_frame *frame)
{
	if (frame->build_id)
		facts->build_id = frame->build_id;
	if (frame->svma >= facts->limit)
		facts->limit = frame->svma + 1;
	facts->has_files |= frame->file != STRING_EMPTY;
	facts->has_inlined |= frame->inlined;
	facts->has_main |= strcmp(stacks_name(profile->stacks, frame->key), "main") == 0;
}

/* pprof takes the first mapping for the program itself: the one with a `main` goes first. */
static int put_mappings(struct pprof *pprof)
{
	const struct profile *profile = pprof->profile;
	CLEANUP_FREE struct module_facts *modules = NULL;
	size_t n = 0, n_allocated = 0, program = 0;
	const struct stack_frame *frame;
	struct map64 by_module = {0};
	uint32_t index, module;
	int error = 0;

	for (uint32_t i = 0; i < stacks_n_frames(profile->stacks) && !error; i++) {
		frame = stacks_frame(profile->stacks, i);
		module = stacks_key(profile->stacks, frame->key)->module;
		if (module == STRING_EMPTY)
			continue;
		index = map64_find(&by_module, module);
		if (index == MAP64_NONE) {
			index = (uint32_t)n;
			error = GROW_BY_ONE(modules, n_allocated, n);
			if (!error)
				error = map64_set(&by_module, module, index);
			if (error < 0)
				break;
			modules[n++] = (struct module_facts){.module = module};
		}
		note_frame(&modules[index], profile, frame);
	}
	map64_deinit(&by_module);
	while (program < n && !modules[program].has_main)
		program++;
	if (!error && program < n)
		error = put_mapping(pprof, &modules[program]);
	for (size_t i = 0; i < n && !error; i++)
		if (i != program)
			error = put_mapping(pprof, &modules[i]);
	return error;
}

static int put_head(struct pprof *pprof)
{
	static const char *const types[N_VALUES][2] = {{"alloc_objects", "count"}, {"alloc_space", "bytes"},
	        {"inuse_objects", "count"}, {"inuse_space", "bytes"}, {"peak_objects", "count"},
	        {"peak_space", "bytes"}, {"temporary_objects", "count"}};
	Pprof__ValueType values[N_VALUES], period = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType *value_ptrs[N_VALUES];
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t comments[2];
	int error = 0;

	for (size_t i = 0; i < N_VALUES && !error; i++) {
		pprof__value_type__init(&values[i]);
		value_ptrs[i] = &values[i];
		error = add_text(pprof, types[i][0], &values[i].type);
		if (!error)
			error = add_text(pprof, types[i][1], &values[i].unit);
	}
	if (!error)
		error = add_text(pprof,
		        "memstacks: every allocation is counted; inuse_* is what was never freed",
		        &comments[0]);
	if (!error)
		error = add_text(pprof, pprof->profile->n_problems ? "PARTIAL recording" : "whole recording",
		        &comments[1]);
	period.type = values[1].type;
	period.unit = values[1].unit;
	part.n_sample_type = N_VALUES;
	part.sample_type = value_ptrs;
	part.period_type = &period;
	part.period = 1;
	part.duration_nanos = (int64_t)(pprof->profile->end - pprof->profile->begin);
	part.default_sample_type = values[5].type;
	part.n_comment = N_ELEMENTS(comments);
	part.comment = comments;
	return error < 0 ? error : put(pprof, &part);
}

static int put_strings(struct pprof *pprof)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	ProtobufCBinaryData text;
	int error = 0;

	part.n_string_table = 1;
	part.string_table = &text;
	for (uint32_t i = 0; i < string_pool_count(pprof->strings) && !error; i++) {
		text.data = (uint8_t *)(uintptr_t)string_pool_get(pprof->strings, i);
		text.len = strlen(string_pool_get(pprof->strings, i));
		error = put(pprof, &part);
	}
	return error;
}

static int put_all(struct pprof *pprof)
{
	size_t n = heap_paths_n_sites(pprof->profile->heap);
	int error = put_head(pprof);

	if (!error)
		error = put_mappings(pprof);
	for (size_t i = 0; i < n && !error; i++) {
		error = put_sample(pprof, heap_paths_site(pprof->profile->heap, i));
		if (!error)
			error = export_step(pprof->options, "writing", i, n);
	}
	if (!error)
		error = put_strings(pprof);
	return error < 0 ? error : gzip_finish(pprof->gzip);
}

int export_pprof(const struct profile *profile, const struct export_options *options, FILE *out)
{
	struct pprof pprof = {.profile = profile, .options = options};
	int error = gzip_new(out, &pprof.gzip);

	if (!error)
		error = string_pool_new(&pprof.strings);
	if (!error)
		error = put_all(&pprof);
	gzip_free(pprof.gzip);
	string_pool_free(pprof.strings);
	map64_deinit(&pprof.functions);
	map64_deinit(&pprof.mappings);
	map64_deinit(&pprof.locations);
	free(pprof.ids);
	free(pprof.packed);
	return error;
}
