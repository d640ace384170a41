/* stacks.c: interned frames, stacks and call paths. */
#include "report/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map64.h"

#define NONE STACKS_NONE

/* Rows with one hash are chained from the map through `next`. */
struct frame_entry {
	struct stack_frame public;
	uint32_t next;
};

struct stack_entry {
	struct stack_row public;
	uint32_t next;
};

struct path_entry {
	struct stack_path public;
	uint32_t next;
};

struct stacks {
	struct string_pool *strings;
	bool fold;
	struct stack_key *keys;
	size_t n_keys, n_keys_allocated;
	struct frame_entry *frames;
	size_t n_frames, n_frames_allocated;
	struct stack_entry *stacks;
	size_t n_stacks, n_stacks_allocated;
	struct path_entry *paths;
	size_t n_paths, n_paths_allocated;
	uint32_t *ids; /* the frame numbers of all stacks */
	size_t n_ids, n_ids_allocated;
	uint32_t *row; /* those of the stack being added */
	size_t n_row, n_row_allocated;
	struct map64 key_map, frame_map, stack_map, path_map;
};

int stacks_new(struct string_pool *strings, bool fold, struct stacks **ret_stacks)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	stacks->strings = strings;
	stacks->fold = fold;
	*ret_stacks = stacks;
	return 0;
}

struct stacks *stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return NULL;
	free(stacks->keys);
	free(stacks->frames);
	free(stacks->stacks);
	free(stacks->paths);
	free(stacks->ids);
	free(stacks->row);
	map64_deinit(&stacks->key_map);
	map64_deinit(&stacks->frame_map);
	map64_deinit(&stacks->stack_map);
	map64_deinit(&stacks->path_map);
	free(stacks);
	return NULL;
}

/* Makes row `index` the first of those with this hash; *ret_next is the one that was. */
static int chain(struct map64 *map, uint64_t hash, uint32_t index, uint32_t *ret_next)
{
	uint32_t head = map64_find(map, hash);

	*ret_next = head;
	if (head == MAP64_NONE)
		return map64_set(map, hash, index);
	map64_set(map, hash, index);
	return 0;
}

static int add_key(struct stacks *stacks, uint32_t name, uint32_t module, uint32_t *ret_key)
{
	uint64_t id = (uint64_t)name << 32 | module;
	uint32_t key = map64_find(&stacks->key_map, id);
	int error;

	if (key != MAP64_NONE) {
		*ret_key = key;
		return 0;
	}
	if (stacks->n_keys >= NONE)
		return -E2BIG;
	error = GROW_BY_ONE(stacks->keys, stacks->n_keys_allocated, stacks->n_keys);
	if (error < 0)
		return error;
	error = map64_set(&stacks->key_map, id, (uint32_t)stacks->n_keys);
	if (error < 0)
		return error;
	stacks->keys[stacks->n_keys] = (struct stack_key){.name = name, .module = module};
	*ret_key = (uint32_t)stacks->n_keys++;
	return 0;
}

static bool same_frame(const struct stack_frame *a, const struct stack_frame *b)
{
	return a->key == b->key && a->symbol == b->symbol && a->file == b->file && a->line == b->line &&
	       a->build_id == b->build_id && a->inlined == b->inlined && a->named == b->named &&
	       a->made_up == b->made_up && a->svma == b->svma;
}

/* Adds the frame, or finds it, and appends its number to the row. */
static int push_frame(struct stacks *stacks, const struct stack_frame *frame)
{
	uint64_t hash = map64_mix(frame->svma ^ map64_mix((uint64_t)frame->key << 32 | frame->line));
	uint32_t index = map64_find(&stacks->frame_map, hash);
	int error;

	while (index != NONE && !same_frame(&stacks->frames[index].public, frame))
		index = stacks->frames[index].next;
	error = GROW_BY_ONE(stacks->row, stacks->n_row_allocated, stacks->n_row);
	if (error < 0)
		return error;
	if (index == NONE) {
		if (stacks->n_frames >= NONE)
			return -E2BIG;
		error = GROW_BY_ONE(stacks->frames, stacks->n_frames_allocated, stacks->n_frames);
		if (error < 0)
			return error;
		index = (uint32_t)stacks->n_frames;
		stacks->frames[index].public = *frame;
		error = chain(&stacks->frame_map, hash, index, &stacks->frames[index].next);
		if (error < 0)
			return error;
		stacks->n_frames++;
	}
	stacks->row[stacks->n_row++] = index;
	return 0;
}

static int push_made_up(struct stacks *stacks, const char *text, const char *module)
{
	struct stack_frame frame = {.made_up = true, .named = true};
	uint32_t name, module_id;
	int error;

	error = string_pool_add(stacks->strings, text, &name);
	if (error < 0)
		return error;
	error = string_pool_add(stacks->strings, module, &module_id);
	if (error < 0)
		return error;
	error = add_key(stacks, name, module_id, &frame.key);
	return error < 0 ? error : push_frame(stacks, &frame);
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int name_frame(struct stacks *stacks, const struct frame *from, uint32_t *ret_name)
{
	char text[320];

	if (from->function && *from->function)
		return string_pool_add(stacks->strings, from->function, ret_name);
	if (from->symbol && *from->symbol)
		return string_pool_add(stacks->strings, from->symbol, ret_name);
	if (!from->module)
		return string_pool_add(stacks->strings, "[code outside any file]", ret_name);
	snprintf(text, sizeof(text), "%.255s+0x%" PRIx64, last_component(from->module), from->svma);
	return string_pool_add(stacks->strings, text, ret_name);
}

static int push_resolved(struct stacks *stacks, const struct frame *from)
{
	struct stack_frame frame = {.line = from->line, .inlined = from->inlined, .svma = from->svma};
	uint32_t name, module;
	int error;

	frame.named = (from->function && *from->function) || (from->symbol && *from->symbol);
	error = name_frame(stacks, from, &name);
	if (error < 0)
		return error;
	error = string_pool_add(stacks->strings, from->module, &module);
	if (error < 0)
		return error;
	error = string_pool_add(stacks->strings, from->symbol, &frame.symbol);
	if (error < 0)
		return error;
	error = string_pool_add(stacks->strings, from->file, &frame.file);
	if (error < 0)
		return error;
	error = string_pool_add(stacks->strings, from->build_id, &frame.build_id);
	if (error < 0)
		return error;
	error = add_key(stacks, name, module, &frame.key);
	return error < 0 ? error : push_frame(stacks, &frame);
}

static int push_fold(struct stacks *stacks, const char *module)
{
	char text[320];

	snprintf(text, sizeof(text), "[%.255s]", module ? last_component(module) : "folded");
	return push_made_up(stacks, text, module);
}

static int fill_row(struct stacks *stacks, const struct resolved_stack *resolved)
{
	const struct frame *frames = resolved->frames;
	char text[160];
	int error = 0;
	size_t i;

	for (i = 0; i < resolved->n_frames && !error; i++) {
		if (!stacks->fold || !frames[i].ignored)
			error = push_resolved(stacks, &frames[i]);
		else if (i == 0 || !frames[i - 1].ignored)
			error = push_fold(stacks, frames[i].module);
	}
	if (error < 0 || resolved->end == STACK_END_BASE)
		return error;
	snprintf(text, sizeof(text), "[incomplete stack: %s]", stack_end_text(resolved->end));
	return push_made_up(stacks, text, NULL);
}

static uint32_t row_key(const struct stacks *stacks, size_t first, uint32_t i)
{
	return stacks->frames[stacks->ids[first + i]].public.key;
}

static bool same_path(const struct stacks *stacks, const struct stack_row *row, uint32_t path)
{
	const struct stack_row *other = &stacks->stacks[stacks->paths[path].public.stack].public;
	uint32_t i;

	if (other->n_frames != row->n_frames)
		return false;
	for (i = 0; i < row->n_frames; i++)
		if (row_key(stacks, row->first, i) != row_key(stacks, other->first, i))
			return false;
	return true;
}

/* Finds or adds the call path of the stack that is to become number `stack`. */
static int find_path(struct stacks *stacks, struct stack_row *row, uint32_t stack)
{
	uint64_t hash = row->n_frames;
	uint32_t index, i;
	int error;

	for (i = 0; i < row->n_frames; i++)
		hash = map64_mix(hash ^ row_key(stacks, row->first, i));
	index = map64_find(&stacks->path_map, hash);
	while (index != NONE && !same_path(stacks, row, index))
		index = stacks->paths[index].next;
	if (index == NONE) {
		error = GROW_BY_ONE(stacks->paths, stacks->n_paths_allocated, stacks->n_paths);
		if (error < 0)
			return error;
		index = (uint32_t)stacks->n_paths;
		error = chain(&stacks->path_map, hash, index, &stacks->paths[index].next);
		if (error < 0)
			return error;
		stacks->paths[index].public = (struct stack_path){.stack = stack, .latest = NONE};
		stacks->n_paths++;
	}
	row->path = index;
	row->sibling = stacks->paths[index].public.latest;
	stacks->paths[index].public.latest = stack;
	stacks->paths[index].public.n_stacks++;
	return 0;
}

static bool same_stack(const struct stacks *stacks, const struct stack_row *row, uint32_t stack)
{
	const struct stack_row *other = &stacks->stacks[stack].public;

	return other->n_frames == row->n_frames && other->end == row->end &&
	       other->stitched == row->stitched && other->resolved == row->resolved &&
	       other->stopped_module == row->stopped_module &&
	       memcmp(&stacks->ids[other->first], stacks->row, row->n_frames * sizeof(*stacks->row)) == 0;
}

static int append_ids(struct stacks *stacks)
{
	int error = grow_array(
	        &stacks->ids, &stacks->n_ids_allocated, stacks->n_ids + stacks->n_row, sizeof(*stacks->ids));

	if (error < 0)
		return error;
	if (stacks->n_row)
		memcpy(&stacks->ids[stacks->n_ids], stacks->row, stacks->n_row * sizeof(*stacks->ids));
	stacks->n_ids += stacks->n_row;
	return 0;
}

/* Makes a stack of what is in the row, unless it is known. */
static int add_row(struct stacks *stacks, struct stack_row row, uint32_t *ret_stack)
{
	uint64_t hash = map64_mix(stacks->n_row ^ (uint64_t)row.end << 32);
	uint32_t index;
	size_t i;
	int error;

	row.n_frames = (uint32_t)stacks->n_row;
	for (i = 0; i < stacks->n_row; i++)
		hash = map64_mix(hash ^ stacks->row[i]);
	for (index = map64_find(&stacks->stack_map, hash); index != NONE;
	        index = stacks->stacks[index].next) {
		if (same_stack(stacks, &row, index)) {
			*ret_stack = index;
			return 0;
		}
	}
	if (stacks->n_stacks >= NONE - 1)
		return -E2BIG;
	error = GROW_BY_ONE(stacks->stacks, stacks->n_stacks_allocated, stacks->n_stacks);
	if (error < 0)
		return error;
	row.first = stacks->n_ids;
	error = append_ids(stacks);
	if (error < 0)
		return error;
	index = (uint32_t)stacks->n_stacks;
	error = find_path(stacks, &row, index);
	if (error < 0)
		return error;
	error = chain(&stacks->stack_map, hash, index, &stacks->stacks[index].next);
	if (error < 0)
		return error;
	stacks->stacks[index].public = row;
	stacks->n_stacks++;
	*ret_stack = index;
	return 0;
}

int stacks_add(struct stacks *stacks, const struct resolved_stack *resolved, uint32_t *ret_stack)
{
	struct stack_row row = {.end = resolved->end, .stitched = resolved->stitched, .resolved = true};
	int error;

	stacks->n_row = 0;
	error = fill_row(stacks, resolved);
	if (error < 0)
		return error;
	if (!stacks->n_row) {
		error = push_made_up(stacks, "[empty stack]", NULL);
		if (error < 0)
			return error;
	}
	if (resolved->end != STACK_END_BASE) {
		row.stopped_at = resolved->stopped_at;
		error = string_pool_add(stacks->strings, resolved->stopped_module, &row.stopped_module);
		if (error < 0)
			return error;
	}
	return add_row(stacks, row, ret_stack);
}

int stacks_add_made_up(struct stacks *stacks, const char *text, uint32_t *ret_stack)
{
	int error;

	stacks->n_row = 0;
	error = push_made_up(stacks, text, NULL);
	return error < 0 ? error : add_row(stacks, (struct stack_row){0}, ret_stack);
}

size_t stacks_count(const struct stacks *stacks)
{
	return stacks->n_stacks;
}

size_t stacks_n_paths(const struct stacks *stacks)
{
	return stacks->n_paths;
}

size_t stacks_n_frames(const struct stacks *stacks)
{
	return stacks->n_frames;
}

size_t stacks_n_keys(const struct stacks *stacks)
{
	return stacks->n_keys;
}

const struct stack_row *stacks_row(const struct stacks *stacks, uint32_t stack)
{
	return &stacks->stacks[stack].public;
}

const struct stack_path *stacks_path(const struct stacks *stacks, uint32_t path)
{
	return &stacks->paths[path].public;
}

const struct stack_frame *stacks_frame(const struct stacks *stacks, uint32_t frame)
{
	return &stacks->frames[frame].public;
}

const struct stack_key *stacks_key(const struct stacks *stacks, uint32_t key)
{
	return &stacks->keys[key];
}

const uint32_t *stacks_frames(const struct stacks *stacks, uint32_t stack)
{
	return &stacks->ids[stacks->stacks[stack].public.first];
}

const char *stacks_name(const struct stacks *stacks, uint32_t key)
{
	return string_pool_get(stacks->strings, stacks->keys[key].name);
}

const char *stacks_module(const struct stacks *stacks, uint32_t key)
{
	return string_pool_get(stacks->strings, stacks->keys[key].module);
}
