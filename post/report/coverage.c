/* coverage.c: sums over stacks, weighted by their allocations. */
#include "report/coverage.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map64.h"

static bool has_unnamed(const struct profile *profile, uint32_t stack)
{
	const struct stack_row *row = stacks_row(profile->stacks, stack);
	const uint32_t *frames = stacks_frames(profile->stacks, stack);

	for (uint32_t i = 0; i < row->n_frames; i++)
		if (!stacks_frame(profile->stacks, frames[i])->named)
			return true;
	return false;
}

void coverage_of(const struct profile *profile, struct coverage *ret_coverage)
{
	struct coverage coverage = {
	        .n_no_stack = profile->n_without_stack, .n_undefined = profile->n_undefined};
	const struct stack_row *row;
	uint64_t n, n_made_up = 0;

	for (uint32_t i = 0; i < stacks_count(profile->stacks); i++) {
		row = stacks_row(profile->stacks, i);
		n = profile->stack_tallies[i].n_total;
		coverage.n_allocations += n;
		if (!row->resolved) {
			n_made_up += n;
			continue;
		}
		coverage.n_by_end[row->end] += n;
		coverage.n_stitched += row->stitched ? n : 0;
		if (row->end == STACK_END_BASE && has_unnamed(profile, i))
			coverage.n_unnamed += n;
	}
	coverage.n_whole = coverage.n_by_end[STACK_END_BASE];
	coverage.n_unresolved = n_made_up - coverage.n_no_stack - coverage.n_undefined;
	*ret_coverage = coverage;
}

static int compare_stops(const void *left, const void *right)
{
	const struct coverage_stop *a = left, *b = right;

	if (a->n_allocations != b->n_allocations)
		return a->n_allocations > b->n_allocations ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return a->module < b->module ? -1 : a->module > b->module;
}

int coverage_stops(const struct profile *profile, struct coverage_stop **ret_stops, size_t *ret_n)
{
	CLEANUP_FREE struct coverage_stop *stops = NULL;
	size_t n = 0, n_allocated = 0;
	const struct stack_row *row;
	struct map64 map = {0};
	uint32_t index;
	uint64_t key;
	int error = 0;

	for (uint32_t i = 0; i < stacks_count(profile->stacks) && !error; i++) {
		row = stacks_row(profile->stacks, i);
		if (!row->resolved || row->end == STACK_END_BASE || !profile->stack_tallies[i].n_total)
			continue;
		key = (uint64_t)row->end << 32 | row->stopped_module;
		index = map64_find(&map, key);
		if (index == MAP64_NONE) {
			index = (uint32_t)n;
			error = GROW_BY_ONE(stops, n_allocated, n);
			if (!error)
				error = map64_set(&map, key, index);
			if (error < 0)
				break;
			stops[n++] = (struct coverage_stop){
			        .end = row->end, .module = row->stopped_module, .address = row->stopped_at};
		}
		stops[index].n_allocations += profile->stack_tallies[i].n_total;
		stops[index].n_stacks++;
	}
	map64_deinit(&map);
	if (error < 0)
		return error;
	if (n)
		qsort(stops, n, sizeof(*stops), compare_stops);
	*ret_stops = STEAL_PTR(stops);
	*ret_n = n;
	return 0;
}

static int compare_unnamed(const void *left, const void *right)
{
	const struct coverage_unnamed *a = left, *b = right;

	if (a->n_allocations != b->n_allocations)
		return a->n_allocations > b->n_allocations ? -1 : 1;
	return a->module < b->module ? -1 : a->module > b->module;
}

struct unnamed_search {
	struct coverage_unnamed *modules;
	size_t n, n_allocated;
	struct map64 by_module; /* string → index */
	uint32_t *last_stack;   /* by index: the last stack it was counted for, + 1 */
	size_t n_last_allocated;
};

static int find_unnamed(struct unnamed_search *search, uint32_t module, uint32_t *ret_index)
{
	int error;

	*ret_index = map64_find(&search->by_module, module);
	if (*ret_index != MAP64_NONE)
		return 0;
	*ret_index = (uint32_t)search->n;
	error = GROW_BY_ONE(search->modules, search->n_allocated, search->n);
	if (!error)
		error = GROW_BY_ONE(search->last_stack, search->n_last_allocated, search->n);
	if (!error)
		error = map64_set(&search->by_module, module, *ret_index);
	if (error < 0)
		return error;
	search->last_stack[search->n] = 0;
	search->modules[search->n++] = (struct coverage_unnamed){.module = module};
	return 0;
}

/* Counts the stack once for each module of which it holds unnamed frames. */
static int search_stack(const struct profile *profile, struct unnamed_search *search, uint32_t stack)
{
	const struct stack_row *row = stacks_row(profile->stacks, stack);
	const uint32_t *frames = stacks_frames(profile->stacks, stack);
	const struct stack_frame *frame;
	uint32_t index;
	int error;

	for (uint32_t i = 0; i < row->n_frames; i++) {
		frame = stacks_frame(profile->stacks, frames[i]);
		if (frame->named)
			continue;
		error = find_unnamed(search, stacks_key(profile->stacks, frame->key)->module, &index);
		if (error < 0)
			return error;
		if (search->last_stack[index] == stack + 1)
			continue;
		search->last_stack[index] = stack + 1;
		search->modules[index].n_allocations += profile->stack_tallies[stack].n_total;
	}
	return 0;
}

static void count_places(const struct profile *profile, struct unnamed_search *search)
{
	const struct stack_frame *frame;
	uint32_t index;

	for (uint32_t i = 0; i < stacks_n_frames(profile->stacks); i++) {
		frame = stacks_frame(profile->stacks, i);
		if (frame->named)
			continue;
		index = map64_find(&search->by_module, stacks_key(profile->stacks, frame->key)->module);
		if (index != MAP64_NONE)
			search->modules[index].n_frames++;
	}
}

int coverage_unnamed(const struct profile *profile, struct coverage_unnamed **ret_modules, size_t *ret_n)
{
	struct unnamed_search search = {0};
	int error = 0;

	for (uint32_t i = 0; i < stacks_count(profile->stacks) && !error; i++)
		if (profile->stack_tallies[i].n_total)
			error = search_stack(profile, &search, i);
	count_places(profile, &search);
	map64_deinit(&search.by_module);
	free(search.last_stack);
	if (error < 0) {
		free(search.modules);
		return error;
	}
	if (search.n)
		qsort(search.modules, search.n, sizeof(*search.modules), compare_unnamed);
	*ret_modules = search.modules;
	*ret_n = search.n;
	return 0;
}
