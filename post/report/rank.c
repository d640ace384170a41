/* rank.c: sorting call paths. */
#include "report/rank.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"

struct ranked {
	uint64_t value;
	uint32_t path;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->path < b->path ? -1 : a->path > b->path;
}

int rank_paths(const struct profile *profile, enum metric metric, uint32_t **ret_paths, size_t *ret_n)
{
	size_t n_paths = stacks_n_paths(profile->stacks), n = 0, i;
	CLEANUP_FREE struct ranked *ranked = calloc(n_paths + 1, sizeof(*ranked));
	uint32_t *paths = calloc(n_paths + 1, sizeof(*paths));

	if (!ranked || !paths) {
		free(paths);
		return -ENOMEM;
	}
	for (i = 0; i < n_paths; i++) {
		ranked[n] = (struct ranked){
		        .value = metric_of(metric, &profile->path_tallies[i]), .path = (uint32_t)i};
		n += ranked[n].value != 0;
	}
	qsort(ranked, n, sizeof(*ranked), compare_ranked);
	for (i = 0; i < n; i++)
		paths[i] = ranked[i].path;
	*ret_paths = paths;
	*ret_n = n;
	return 0;
}

static int compare_places(const void *left, const void *right)
{
	const struct process_path *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->path < b->path ? -1 : a->path > b->path;
}

static int compare_own_peaks(const void *left, const void *right)
{
	const struct process_path *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->tally.own_peak_bytes != b->tally.own_peak_bytes)
		return a->tally.own_peak_bytes > b->tally.own_peak_bytes ? -1 : 1;
	return a->path < b->path ? -1 : a->path > b->path;
}

int rank_process_paths(const struct profile *profile, struct process_path **ret_pairs, size_t *ret_n)
{
	size_t n_sites = heap_paths_n_sites(profile->heap), n = 0, i;
	struct process_path *pairs = calloc(n_sites + 1, sizeof(*pairs));
	const struct heap_site *site;

	if (!pairs)
		return -ENOMEM;
	for (i = 0; i < n_sites; i++) {
		site = heap_paths_site(profile->heap, i);
		pairs[i] = (struct process_path){.process = site->process,
		        .path = stacks_row(profile->stacks, site->stack)->path,
		        .tally = site->tally};
	}
	qsort(pairs, n_sites, sizeof(*pairs), compare_places);
	for (i = 0; i < n_sites; i++) {
		if (n && compare_places(&pairs[n - 1], &pairs[i]) == 0)
			heap_tally_add(&pairs[n - 1].tally, &pairs[i].tally);
		else
			pairs[n++] = pairs[i];
	}
	qsort(pairs, n, sizeof(*pairs), compare_own_peaks);
	*ret_pairs = pairs;
	*ret_n = n;
	return 0;
}

const char *rank_path_line(const struct profile *profile, uint32_t path, uint32_t index, uint32_t *ret_line)
{
	const struct stack_path *row = stacks_path(profile->stacks, path);
	const struct stack_frame *first, *frame;
	uint32_t stack = row->latest;
	uint32_t line;

	first = stacks_frame(profile->stacks, stacks_frames(profile->stacks, row->stack)[index]);
	if (first->file == STRING_EMPTY)
		return NULL;
	for (line = first->line; stack != STACKS_NONE; stack = stacks_row(profile->stacks, stack)->sibling) {
		frame = stacks_frame(profile->stacks, stacks_frames(profile->stacks, stack)[index]);
		if (frame->line != line || frame->file != first->file)
			line = 0;
	}
	*ret_line = line;
	return string_pool_get(profile->strings, first->file);
}
