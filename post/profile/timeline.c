/* timeline.c: which file was mapped where in which process since when. */
#include "profile/timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/number_map.h"

#define PLACEMENTS_MAX (4u << 20)
#define ACTIVE_MAX     (16u << 10) /* of one space; ten times what the largest programs map */

/* One step, as it stood in the stream. */
struct step {
	uint64_t time;
	uint64_t order;
	enum event_type type;
	bool shares_memory;
	uint32_t pid;
	uint32_t parent;
	struct placement placement; /* Mapping */
};

/* An address space and who lives in it. Its mappings do not overlap: what a later one covers is cut off. */
struct space {
	size_t number; /* in timeline.spaces */
	struct placement *active;
	size_t n_active;
	size_t n_active_allocated;
	size_t *inhabitants; /* processes, by number */
	size_t n_inhabitants;
	size_t n_inhabitants_allocated;
};

struct process {
	uint32_t pid;
	struct space *space; /* NULL: none */
	size_t at;           /* in space->inhabitants */
};

struct timeline {
	struct step *steps;
	size_t n_steps;
	size_t n_steps_allocated;
	struct process *processes;
	size_t n_processes;
	size_t n_processes_allocated;
	struct number_map by_pid; /* 1 + number of the process */
	struct space **spaces;
	size_t n_spaces;
	size_t n_spaces_allocated;
	struct placement *placements;
	size_t n_placements;
	size_t n_placements_allocated;
	uint64_t n_dropped;
};

int timeline_new(struct timeline **ret_timeline)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return -ENOMEM;
	*ret_timeline = timeline;
	return 0;
}

int timeline_add(struct timeline *timeline, const struct event *event, uint32_t module)
{
	struct step step = {
	        .time = event->timestamp,
	        .order = timeline->n_steps,
	        .type = event->type,
	        .shares_memory = event->shares_memory,
	        .pid = event->pid,
	        .parent = event->parent_pid,
	};
	int r;

	if (event->type != EVENT_MAPPING && event->type != EVENT_FORK && event->type != EVENT_EXEC &&
	        event->type != EVENT_EXIT)
		return 0;
	if (event->type == EVENT_MAPPING) {
		step.placement = (struct placement){
		        .module = module,
		        .time = event->timestamp,
		        .start = event->addr,
		        .file_offset = event->mapping.file_offset,
		};
		if (__builtin_add_overflow(event->addr, event->mapping.len, &step.placement.end))
			step.placement.end = UINT64_MAX;
		if (event->mapping.len == 0)
			return 0;
	}
	r = GROW_BY_ONE(timeline->steps, timeline->n_steps_allocated, timeline->n_steps);
	if (r < 0)
		return r;
	timeline->steps[timeline->n_steps++] = step;
	return 0;
}

static struct space *space_free(struct space *space)
{
	if (space) {
		free(space->active);
		free(space->inhabitants);
		free(space);
	}
	return NULL;
}

/* The number of a process, made where it is new. */
static int find_process(struct timeline *timeline, uint32_t pid, size_t *ret_process)
{
	uint64_t *number = number_map_at(&timeline->by_pid, pid);
	int r;

	if (!number)
		return -ENOMEM;
	if (*number == 0) {
		r = GROW_BY_ONE(timeline->processes, timeline->n_processes_allocated, timeline->n_processes);
		if (r < 0)
			return r;
		timeline->processes[timeline->n_processes++] = (struct process){.pid = pid};
		*number = timeline->n_processes;
	}
	*ret_process = *number - 1;
	return 0;
}

static int enter_space(struct timeline *timeline, size_t process, struct space *space)
{
	int r = GROW_BY_ONE(space->inhabitants, space->n_inhabitants_allocated, space->n_inhabitants);

	if (r < 0)
		return r;
	timeline->processes[process].space = space;
	timeline->processes[process].at = space->n_inhabitants;
	space->inhabitants[space->n_inhabitants++] = process;
	return 0;
}

static int enter_new_space(struct timeline *timeline, size_t process)
{
	struct space *space;
	int r = GROW_BY_ONE(timeline->spaces, timeline->n_spaces_allocated, timeline->n_spaces);

	if (r < 0)
		return r;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	r = enter_space(timeline, process, space);
	if (r < 0) {
		space_free(space);
		return r;
	}
	space->number = timeline->n_spaces;
	timeline->spaces[timeline->n_spaces++] = space;
	return 0;
}

/* The process is in no space any more; one that nobody lives in goes. */
static void leave_space(struct timeline *timeline, size_t process)
{
	struct space *space = timeline->processes[process].space, *moved;
	size_t at = timeline->processes[process].at, last;

	if (!space)
		return;
	timeline->processes[process].space = NULL;
	last = space->inhabitants[--space->n_inhabitants];
	space->inhabitants[at] = last;
	if (last != process)
		timeline->processes[last].at = at;
	if (space->n_inhabitants > 0)
		return;
	moved = timeline->spaces[--timeline->n_spaces];
	moved->number = space->number;
	timeline->spaces[space->number] = moved;
	space_free(space);
}

static int add_placement(
        struct timeline *timeline, const struct placement *placement, uint32_t pid, uint64_t time)
{
	struct placement *added;
	int r;

	if (timeline->n_placements >= PLACEMENTS_MAX) {
		timeline->n_dropped++;
		return 0;
	}
	r = GROW_BY_ONE(timeline->placements, timeline->n_placements_allocated, timeline->n_placements);
	if (r < 0)
		return r;
	added = &timeline->placements[timeline->n_placements++];
	*added = *placement;
	added->pid = pid;
	added->time = time;
	return 0;
}

static int add_active(struct space *space, const struct placement *placement)
{
	int r = GROW_BY_ONE(space->active, space->n_active_allocated, space->n_active);

	if (r < 0)
		return r;
	space->active[space->n_active++] = *placement;
	return 0;
}

/* Cuts [start, end) out of what is mapped. */
static int cut_out(struct space *space, uint64_t start, uint64_t end)
{
	for (size_t i = space->n_active; i-- > 0;) {
		struct placement *active = &space->active[i], rest = *active;

		if (active->end <= start || active->start >= end)
			continue;
		if (rest.end > end) {
			rest.file_offset += end - rest.start;
			rest.start = end;
			if (active->start >= start) {
				*active = rest;
				continue;
			}
			active->end = start;
			if (add_active(space, &rest) < 0)
				return -ENOMEM;
		} else if (active->start < start) {
			active->end = start;
		} else {
			*active = space->active[--space->n_active];
		}
	}
	return 0;
}

static int play_mapping(struct timeline *timeline, const struct step *step, size_t process)
{
	struct space *space;
	int r = timeline->processes[process].space ? 0 : enter_new_space(timeline, process);

	if (r < 0)
		return r;
	space = timeline->processes[process].space;
	r = cut_out(space, step->placement.start, step->placement.end);
	if (r >= 0 && space->n_active >= ACTIVE_MAX)
		timeline->n_dropped++; /* by those who would inherit it */
	else if (r >= 0)
		r = add_active(space, &step->placement);
	for (size_t i = 0; r >= 0 && i < space->n_inhabitants; i++)
		r = add_placement(timeline, &step->placement, timeline->processes[space->inhabitants[i]].pid,
		        step->time);
	return r;
}

static int play_fork(struct timeline *timeline, const struct step *step, size_t process)
{
	struct space *parent_space;
	size_t parent;
	int r = find_process(timeline, step->parent, &parent);

	if (r < 0 || parent == process)
		return r;
	leave_space(timeline, process);
	parent_space = timeline->processes[parent].space;
	if (!parent_space)
		return 0;
	if (step->shares_memory)
		r = enter_space(timeline, process, parent_space);
	else
		r = enter_new_space(timeline, process);
	for (size_t i = 0; r >= 0 && i < parent_space->n_active; i++) {
		if (timeline->n_placements >= PLACEMENTS_MAX) { /* which bounds the copies too */
			timeline->n_dropped += parent_space->n_active - i;
			break;
		}
		r = add_placement(timeline, &parent_space->active[i], step->pid, step->time);
		if (r >= 0 && !step->shares_memory)
			r = add_active(timeline->processes[process].space, &parent_space->active[i]);
	}
	return r;
}

static int play(struct timeline *timeline, const struct step *step)
{
	size_t process;
	int r = find_process(timeline, step->pid, &process);

	if (r < 0)
		return r;
	if (step->type == EVENT_MAPPING)
		return play_mapping(timeline, step, process);
	if (step->type == EVENT_FORK)
		return play_fork(timeline, step, process);
	leave_space(timeline, process);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_process(const void *a, const void *b)
{
	const struct placement *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

int timeline_finish(struct timeline *timeline, const struct placement **ret_placements, size_t *ret_n)
{
	int r = 0;

	if (timeline->n_steps > 0)
		qsort(timeline->steps, timeline->n_steps, sizeof(timeline->steps[0]), by_time);
	for (size_t i = 0; i < timeline->n_steps && r >= 0; i++)
		r = play(timeline, &timeline->steps[i]);
	if (r < 0)
		return r;
	if (timeline->n_placements > 0)
		qsort(timeline->placements, timeline->n_placements, sizeof(timeline->placements[0]),
		        by_process);
	*ret_placements = timeline->placements;
	*ret_n = timeline->n_placements;
	return 0;
}

uint64_t timeline_n_dropped(const struct timeline *timeline)
{
	return timeline->n_dropped;
}

struct timeline *timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return NULL;
	for (size_t i = 0; i < timeline->n_spaces; i++)
		space_free(timeline->spaces[i]);
	free(timeline->spaces);
	free(timeline->processes);
	number_map_deinit(&timeline->by_pid);
	free(timeline->steps);
	free(timeline->placements);
	free(timeline);
	return NULL;
}
