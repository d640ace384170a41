/* diff.c: matching call paths by the names of their functions. */
#include "report/diff.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map64.h"

#define NONE STACKS_NONE

static uint32_t n_frames_of(const struct profile *profile, uint32_t path)
{
	return stacks_row(profile->stacks, stacks_path(profile->stacks, path)->stack)->n_frames;
}

/* The string of a frame's name; both profiles number strings alike. */
static uint32_t name_of(const struct profile *profile, uint32_t path, uint32_t index)
{
	const uint32_t *frames = stacks_frames(profile->stacks, stacks_path(profile->stacks, path)->stack);

	return stacks_key(profile->stacks, stacks_frame(profile->stacks, frames[index])->key)->name;
}

static const struct profile *profile_of(
        const struct diff *diff, const struct diff_path *path, uint32_t *ret_path)
{
	*ret_path = path->path_new != NONE ? path->path_new : path->path_old;
	return path->path_new != NONE ? diff->new : diff->old;
}

static bool same_names(
        const struct diff *diff, const struct diff_path *known, const struct profile *profile, uint32_t path)
{
	uint32_t other_path, n = n_frames_of(profile, path);
	const struct profile *other = profile_of(diff, known, &other_path);

	if (n_frames_of(other, other_path) != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (name_of(other, other_path, i) != name_of(profile, path, i))
			return false;
	return true;
}

/* While the paths are matched. */
struct matching {
	struct diff diff;
	struct map64 by_hash;
	uint32_t *next; /* another path of the same hash */
	size_t n_next_allocated;
};

static int find_path(
        struct matching *matching, const struct profile *profile, uint32_t path, uint32_t *ret_index)
{
	struct diff *diff = &matching->diff;
	uint64_t hash = n_frames_of(profile, path);
	uint32_t head, index;
	int error;

	for (uint32_t i = 0; i < n_frames_of(profile, path); i++)
		hash = map64_mix(hash ^ name_of(profile, path, i));
	head = map64_find(&matching->by_hash, hash);
	for (index = head; index != NONE; index = matching->next[index])
		if (same_names(diff, &diff->paths[index], profile, path))
			break;
	*ret_index = index;
	if (index != NONE)
		return 0;
	error = GROW_BY_ONE(diff->paths, diff->n_paths_allocated, diff->n_paths);
	if (!error)
		error = GROW_BY_ONE(matching->next, matching->n_next_allocated, diff->n_paths);
	if (error < 0)
		return error;
	*ret_index = (uint32_t)diff->n_paths;
	if (head == MAP64_NONE)
		error = map64_set(&matching->by_hash, hash, *ret_index);
	else
		map64_set(&matching->by_hash, hash, *ret_index);
	if (error < 0)
		return error;
	matching->next[*ret_index] = head;
	diff->paths[diff->n_paths++] = (struct diff_path){.path_old = NONE, .path_new = NONE};
	return 0;
}

static int add_profile(struct matching *matching, const struct profile *profile, bool is_new)
{
	struct diff_path *known;
	uint32_t index;
	int error;

	for (uint32_t path = 0; path < stacks_n_paths(profile->stacks); path++) {
		if (!profile->path_tallies[path].n_total)
			continue;
		error = find_path(matching, profile, path, &index);
		if (error < 0)
			return error;
		known = &matching->diff.paths[index];
		if (is_new && known->path_new == NONE)
			known->path_new = path;
		if (!is_new && known->path_old == NONE)
			known->path_old = path;
		heap_tally_add(is_new ? &known->new : &known->old, &profile->path_tallies[path]);
	}
	return 0;
}

int diff_make(const struct profile *old, const struct profile *new, struct diff *ret_diff)
{
	struct matching matching = {.diff = {.old = old, .new = new}};
	int error = add_profile(&matching, old, false);

	if (!error)
		error = add_profile(&matching, new, true);
	map64_deinit(&matching.by_hash);
	free(matching.next);
	if (error < 0)
		diff_deinit(&matching.diff);
	else
		*ret_diff = matching.diff;
	return error;
}

void diff_deinit(struct diff *diff)
{
	free(diff->paths);
	*diff = (struct diff){0};
}

uint32_t diff_n_frames(const struct diff *diff, const struct diff_path *path)
{
	uint32_t index;
	const struct profile *profile = profile_of(diff, path, &index);

	return n_frames_of(profile, index);
}

uint32_t diff_frame_string(const struct diff *diff, const struct diff_path *path, uint32_t index)
{
	uint32_t number;
	const struct profile *profile = profile_of(diff, path, &number);

	return name_of(profile, number, index);
}

const char *diff_frame_name(const struct diff *diff, const struct diff_path *path, uint32_t index)
{
	return string_pool_get(diff->new->strings, diff_frame_string(diff, path, index));
}

struct ranked {
	uint64_t distance;
	uint32_t path;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->distance != b->distance)
		return a->distance > b->distance ? -1 : 1;
	return a->path < b->path ? -1 : a->path > b->path;
}

int diff_rank(const struct diff *diff, enum metric metric, uint32_t **ret_paths, size_t *ret_n)
{
	CLEANUP_FREE struct ranked *ranked = calloc(diff->n_paths + 1, sizeof(*ranked));
	uint32_t *paths = calloc(diff->n_paths + 1, sizeof(*paths));
	uint64_t old, new;
	size_t n = 0, i;

	if (!ranked || !paths) {
		free(paths);
		return -ENOMEM;
	}
	for (i = 0; i < diff->n_paths; i++) {
		old = metric_of(metric, &diff->paths[i].old);
		new = metric_of(metric, &diff->paths[i].new);
		ranked[n] =
		        (struct ranked){.distance = new > old ? new - old : old - new, .path = (uint32_t)i};
		n += ranked[n].distance != 0;
	}
	qsort(ranked, n, sizeof(*ranked), compare_ranked);
	for (i = 0; i < n; i++)
		paths[i] = ranked[i].path;
	*ret_paths = paths;
	*ret_n = n;
	return 0;
}

struct naming {
	const struct diff *diff;
	const struct diff_path *path;
};

static const char *get_name(const void *context, uint32_t index)
{
	const struct naming *naming = context;

	return diff_frame_name(naming->diff, naming->path, index);
}

void diff_check(const struct diff *diff, const struct gate *gate, struct gate_result *ret_result)
{
	struct gate_result result = {.matched = !gate->path};
	struct naming naming = {.diff = diff};

	for (size_t i = 0; i < diff->n_paths; i++) {
		naming.path = &diff->paths[i];
		if (gate->path && !gate_matches(gate, get_name, &naming, diff_n_frames(diff, naming.path)))
			continue;
		result.matched = true;
		result.old += metric_of(gate->metric, &naming.path->old);
		result.new += metric_of(gate->metric, &naming.path->new);
	}
	result.failed = gate_fails(gate, result.old, result.new);
	*ret_result = result;
}
