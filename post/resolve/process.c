/* process.c: what lay where in one process, at any time of the run. */
#include "resolve/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/grow.h"

struct range_list {
	struct overlay_range *items;
	size_t n;
	size_t n_allocated;
};

static void cleanup_range_list(struct range_list *list)
{
	free(list->items);
}

static int range_list_add(struct range_list *list, uint64_t start, uint64_t end, uint64_t time, void *value)
{
	int r = GROW_BY_ONE(list->items, list->n_allocated, list->n);

	if (r == 0)
		list->items[list->n++] =
		        (struct overlay_range){.start = start, .end = end, .time = time, .value = value};
	return r;
}

static bool has_stated_range(const struct metadata_process *info, size_t module)
{
	for (size_t i = 0; i < info->n_placements; i++)
		if (info->placements[i].has_range && info->placements[i].module == module)
			return true;
	return false;
}

/* Modules without unwind data have no stated range; what their symbols span is only asked where no stated
 * range holds. Of the others it is known what they cover: their last symbol may reach beyond, into what was mapped
 * behind. */
static int guess_ranges(struct process *process, const struct metadata_process *info, struct range_list *list)
{
	int r = 0;

	for (size_t i = 0; i < info->n_placements && r == 0; i++) {
		const struct metadata_placement *entry = &info->placements[i];
		struct process_placement *placement = &process->placements[i];
		uint64_t start, end;

		if (entry->has_range || has_stated_range(info, entry->module) ||
		        !module_named_range(placement->module, &start, &end))
			continue;
		r = range_list_add(
		        list, start + entry->load_bias, end + entry->load_bias, entry->time, placement);
	}
	return r;
}

static int place_modules(struct process *process, const struct metadata_process *info, struct module *modules)
{
	CLEANUP(cleanup_range_list) struct range_list ranges = {0};
	CLEANUP(cleanup_range_list) struct range_list guesses = {0};
	int r = 0;

	process->placements = calloc(info->n_placements + 1, sizeof(process->placements[0]));
	if (!process->placements)
		return -ENOMEM;
	process->n_placements = info->n_placements;
	for (size_t i = 0; i < info->n_placements && r == 0; i++) {
		const struct metadata_placement *entry = &info->placements[i];
		struct process_placement *placement = &process->placements[i];

		*placement = (struct process_placement){
		        .module = &modules[entry->module],
		        .time = entry->time,
		        .has_base = entry->has_range,
		        .base_avma = entry->base_avma,
		        .bias_known = !entry->has_range,
		        .bias = entry->load_bias,
		};
		if (entry->has_range)
			r = range_list_add(&ranges, entry->start, entry->end, entry->time, placement);
	}
	if (r == 0)
		r = guess_ranges(process, info, &guesses);
	if (r == 0)
		r = overlay_new(ranges.items, ranges.n, &process->ranges);
	return r == 0 ? overlay_new(guesses.items, guesses.n, &process->guesses) : r;
}

static int place_ignored(struct process *process, const struct metadata_process *info)
{
	CLEANUP(cleanup_range_list) struct range_list ranges = {0};
	int r = 0;

	for (size_t i = 0; i < info->n_ignored && r == 0; i++)
		r = range_list_add(&ranges, info->ignored[i].start, info->ignored[i].end, 0, NULL);
	return r == 0 ? overlay_new(ranges.items, ranges.n, &process->ignored) : r;
}

static int read_generated(struct process *process, const struct module_folder *folder)
{
	char name[32];
	int r;

	snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", process->pid);
	r = symbols_read(folder->fd, name, &process->generated);
	if (r < 0 && r != -ENOENT && r != -ENOMEM)
		log_warning(folder->log, "cannot read %s: %s", name, strerror(-r));
	return r == -ENOMEM ? r : 0;
}

static int compare_times(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

int process_prepare(struct process *process, const struct module_folder *folder,
        const struct metadata_process *info, struct module *modules)
{
	static const struct metadata_process nothing;
	struct process prepared = {.pid = process->pid};
	int r;

	if (process->prepared)
		return 0;
	r = place_modules(&prepared, info ? info : &nothing, modules);
	if (r == 0)
		r = place_ignored(&prepared, info ? info : &nothing);
	if (r == 0)
		r = read_generated(&prepared, folder);
	if (r < 0) {
		process_deinit(&prepared);
		return r;
	}
	prepared.image_ends = process->image_ends;
	prepared.n_image_ends = process->n_image_ends;
	prepared.n_image_ends_allocated = process->n_image_ends_allocated;
	if (prepared.n_image_ends > 0)
		qsort(prepared.image_ends, prepared.n_image_ends, sizeof(prepared.image_ends[0]),
		        compare_times);
	prepared.prepared = true;
	*process = prepared;
	return 0;
}

/* When the image that ran at `time` began; 0 for the first one. */
static uint64_t image_start(struct process *process, uint64_t time)
{
	size_t low = 0, high = process->n_image_ends;

	if (!process->image_ends_sorted && high > 0)
		qsort(process->image_ends, high, sizeof(process->image_ends[0]), compare_times);
	process->image_ends_sorted = true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->image_ends[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? process->image_ends[low - 1] : 0;
}

/* What another table says of the module's placement at that time or last before it; false where none does. */
static bool find_stated_bias(
        const struct process *process, const struct process_placement *placement, uint64_t *ret_bias)
{
	const struct process_placement *found = NULL;

	for (size_t i = 0; i < process->n_placements; i++) {
		const struct process_placement *other = &process->placements[i];

		if (!other->has_base && other->module == placement->module &&
		        other->time <= placement->time && (!found || other->time >= found->time))
			found = other;
	}
	if (found)
		*ret_bias = found->bias;
	return found;
}

/* The unwind data know the address in the file that base_avma belongs to. Where they cannot be read and
 * nothing else knows, the file is taken to start at 0, as nearly all do. */
static int find_bias(const struct process *process, struct process_placement *placement)
{
	int r = module_need_unwind(placement->module);

	if (r < 0)
		return r;
	placement->bias = placement->base_avma - placement->module->unwind_data.base_svma;
	if (!placement->module->unwind_data.memory)
		find_stated_bias(process, placement, &placement->bias);
	placement->bias_known = true;
	return 0;
}

int process_find(struct process *process, uint64_t address, uint64_t time,
        const struct process_placement **ret_placement)
{
	const struct overlay_range *range = overlay_find(process->ranges, address, time);
	struct process_placement *placement;
	int r;

	if (!range)
		range = overlay_find(process->guesses, address, time);
	if (!range || range->time < image_start(process, time)) {
		*ret_placement = NULL;
		return 0;
	}
	placement = range->value;
	r = placement->bias_known ? 0 : find_bias(process, placement);
	if (r == 0)
		*ret_placement = placement;
	return r;
}

bool process_ignores(const struct process *process, uint64_t address)
{
	return overlay_find(process->ignored, address, 0) != NULL;
}

int process_end_image(struct process *process, uint64_t time)
{
	int r = GROW_BY_ONE(process->image_ends, process->n_image_ends_allocated, process->n_image_ends);

	if (r < 0)
		return r;
	process->image_ends[process->n_image_ends++] = time;
	process->image_ends_sorted = false;
	return 0;
}

void process_deinit(struct process *process)
{
	overlay_free(process->ranges);
	overlay_free(process->guesses);
	overlay_free(process->ignored);
	symbols_deinit(&process->generated);
	free(process->placements);
	free(process->image_ends);
	*process = (struct process){0};
}
