/* paths.c: tallies by (process, stack). */
#include "heap/paths.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map64.h"

#define NO_SITE UINT32_MAX

/* What was live when a peak was set last. It is put aside when the site changes for the first time after
 * that; until then `epoch` is behind and the site's live figures are those of the peak. */
struct mark {
	uint64_t n;
	uint64_t bytes;
	uint64_t epoch;
};

struct site {
	struct heap_site public;
	struct mark tree;
	struct mark own;
};

struct process {
	struct heap_paths_process public;
	uint64_t epoch; /* of its own peak */
};

/* The block a thread allocated last, while it is still a candidate for being temporary. */
struct thread {
	uint64_t addr;
	uint64_t birth;
	uint32_t site;
};

/* Live over all processes, and the most of it. */
struct stack {
	uint64_t n_live;
	uint64_t live_bytes;
	struct heap_stack_peak peak;
};

struct heap_paths {
	struct heap_replay
	        *replay; /* the stack_hash of its blocks is a site + 1, or 0 where it is not counted */
	struct heap_totals totals;
	uint64_t epoch; /* of the tree's peak */
	struct heap_timeline timeline;
	struct site *sites;
	size_t n_sites, n_sites_allocated;
	struct process *processes;
	size_t n_processes, n_processes_allocated;
	struct thread *threads;
	size_t n_threads, n_threads_allocated;
	struct stack *stacks;
	size_t n_stacks;
	struct map64 site_by_key;
	struct map64 process_by_pid; /* the latest */
	struct map64 exited;         /* pid → 1 while its latest process has exited */
	struct map64 thread_by_tid;
	struct map64 owner_by_pid; /* whose memory a process shares: a pid + 1, or 0 for its own */
};

struct heap_paths *heap_paths_free(struct heap_paths *paths)
{
	if (!paths)
		return NULL;
	free(paths->sites);
	free(paths->processes);
	free(paths->threads);
	free(paths->stacks);
	map64_deinit(&paths->site_by_key);
	map64_deinit(&paths->process_by_pid);
	map64_deinit(&paths->exited);
	map64_deinit(&paths->thread_by_tid);
	map64_deinit(&paths->owner_by_pid);
	heap_replay_free(paths->replay);
	free(paths);
	return NULL;
}

static int add_process(struct heap_paths *paths, uint32_t pid, bool known, uint32_t *ret_process)
{
	int error = GROW_BY_ONE(paths->processes, paths->n_processes_allocated, paths->n_processes);

	if (error < 0)
		return error;
	if (known)
		map64_set(&paths->process_by_pid, pid, (uint32_t)paths->n_processes);
	else
		error = map64_set(&paths->process_by_pid, pid, (uint32_t)paths->n_processes);
	if (error < 0)
		return error;
	paths->processes[paths->n_processes] = (struct process){.public.pid = pid};
	*ret_process = (uint32_t)paths->n_processes++;
	return 0;
}

static int find_process(struct heap_paths *paths, uint32_t pid, uint32_t *ret_process)
{
	uint32_t process = map64_find(&paths->process_by_pid, pid);
	uint32_t exited;

	if (process == MAP64_NONE)
		return add_process(paths, pid, false, ret_process);
	exited = map64_find(&paths->exited, pid);
	if (exited == MAP64_NONE || !exited) {
		*ret_process = process;
		return 0;
	}
	map64_set(&paths->exited, pid, 0);
	return add_process(paths, pid, true, ret_process);
}

/* A later process of the same number is another one. Without memory for the note it is taken for the same. */
static void note_exit(struct heap_paths *paths, uint32_t pid)
{
	if (map64_find(&paths->process_by_pid, pid) == MAP64_NONE)
		return;
	if (map64_find(&paths->exited, pid) == MAP64_NONE)
		map64_set(&paths->exited, pid, 1);
	else
		map64_set(&paths->exited, pid, 1);
}

static uint32_t owner_of(const struct heap_paths *paths, uint32_t pid)
{
	uint32_t owner = map64_find(&paths->owner_by_pid, pid);

	return owner == MAP64_NONE || owner == 0 ? pid : owner - 1;
}

/* `owner` as in owner_by_pid. */
static int set_owner(struct heap_paths *paths, uint32_t pid, uint32_t owner)
{
	if (map64_find(&paths->owner_by_pid, pid) == MAP64_NONE)
		return owner ? map64_set(&paths->owner_by_pid, pid, owner) : 0;
	map64_set(&paths->owner_by_pid, pid, owner);
	return 0;
}

static int find_site(struct heap_paths *paths, uint32_t process, uint32_t stack, uint32_t *ret_site)
{
	uint64_t key = (uint64_t)process << 32 | stack;
	uint32_t site = map64_find(&paths->site_by_key, key);
	int error;

	if (site != MAP64_NONE) {
		*ret_site = site;
		return 0;
	}
	if (paths->n_sites >= NO_SITE - 1)
		return -ENOMEM;
	error = GROW_BY_ONE(paths->sites, paths->n_sites_allocated, paths->n_sites);
	if (error < 0)
		return error;
	error = map64_set(&paths->site_by_key, key, (uint32_t)paths->n_sites);
	if (error < 0)
		return error;
	paths->sites[paths->n_sites] = (struct site){.public = {.process = process, .stack = stack}};
	*ret_site = (uint32_t)paths->n_sites++;
	return 0;
}

static int find_thread(struct heap_paths *paths, uint32_t tid, struct thread **ret_thread)
{
	uint32_t thread = map64_find(&paths->thread_by_tid, tid);
	int error;

	if (thread == MAP64_NONE) {
		error = GROW_BY_ONE(paths->threads, paths->n_threads_allocated, paths->n_threads);
		if (error < 0)
			return error;
		error = map64_set(&paths->thread_by_tid, tid, (uint32_t)paths->n_threads);
		if (error < 0)
			return error;
		thread = (uint32_t)paths->n_threads++;
	}
	*ret_thread = &paths->threads[thread];
	return 0;
}

static void put_aside(struct mark *mark, uint64_t epoch, const struct heap_tally *tally)
{
	if (mark->epoch == epoch)
		return;
	*mark = (struct mark){.n = tally->n_live, .bytes = tally->live_bytes, .epoch = epoch};
}

/* Before any change of the site's live figures. */
static struct heap_tally *open_site(struct heap_paths *paths, struct site *site)
{
	put_aside(&site->tree, paths->epoch, &site->public.tally);
	put_aside(&site->own, paths->processes[site->public.process].epoch, &site->public.tally);
	return &site->public.tally;
}

static void note_peaks(struct heap_paths *paths, struct process *process, uint64_t time)
{
	struct heap_totals *totals = &paths->totals;

	if (process->public.live_bytes > process->public.peak_bytes) {
		process->public.peak_bytes = process->public.live_bytes;
		process->public.peak_time = time;
		process->epoch++;
	}
	if (totals->live_bytes > totals->peak_bytes) {
		totals->peak_bytes = totals->live_bytes;
		totals->n_peak = totals->n_live;
		totals->peak_time = time;
		paths->epoch++;
	}
}

static void add_live(struct heap_paths *paths, struct site *site, uint64_t time, uint64_t size)
{
	struct process *process = &paths->processes[site->public.process];
	struct stack *stack = &paths->stacks[site->public.stack];
	struct heap_tally *tally = open_site(paths, site);

	tally->n_total++;
	tally->total_bytes += size;
	tally->n_live++;
	tally->live_bytes += size;
	tally->lifetime -= time; /* the end adds its own time; wraps in between */
	process->public.n_total++;
	process->public.total_bytes += size;
	process->public.n_live++;
	process->public.live_bytes += size;
	paths->totals.n_total++;
	paths->totals.total_bytes += size;
	paths->totals.n_live++;
	paths->totals.live_bytes += size;
	stack->n_live++;
	stack->live_bytes += size;
	if (stack->live_bytes > stack->peak.bytes)
		stack->peak = (struct heap_stack_peak){.bytes = stack->live_bytes, .n_blocks = stack->n_live};
	note_peaks(paths, process, time);
	heap_timeline_note(&paths->timeline, time, paths->totals.live_bytes);
}

/* Hook: an allocation, whose site was found before. */
static int block_allocated(void *context, const struct heap_row *row)
{
	struct heap_paths *paths = context;
	uint32_t site = (uint32_t)row->stack_hash - 1;
	struct thread *thread;
	int error;

	/* Also one that is not counted ends what the thread allocated before as a candidate. */
	error = find_thread(paths, row->tid, &thread);
	if (error < 0)
		return error;
	*thread = (struct thread){.addr = row->addr, .birth = row->time, .site = NO_SITE};
	if (!row->stack_hash)
		return 0;
	thread->site = site;
	add_live(paths, &paths->sites[site], row->time, row->size);
	return 0;
}

static void count_freed(struct heap_paths *paths, struct heap_tally *tally, const struct heap_block *block,
        const struct heap_row *row)
{
	uint32_t index = map64_find(&paths->thread_by_tid, row->tid);
	struct thread *thread;

	paths->totals.n_freed++;
	if (index == MAP64_NONE)
		return;
	thread = &paths->threads[index];
	if (thread->site != block->stack_hash - 1 || thread->addr != block->addr ||
	        thread->birth != block->time)
		return;
	tally->n_temporary++;
	tally->temporary_bytes += block->size;
	thread->site = NO_SITE;
}

static void count_lifetime(struct heap_tally *tally, uint64_t lifetime)
{
	uint64_t limit = 1000;
	size_t i = 0;

	while (i + 1 < HEAP_N_LIFETIMES && lifetime >= limit) {
		limit *= 10;
		i++;
	}
	tally->lifetimes[i]++;
}

static void remove_live(struct heap_paths *paths, struct site *site, uint64_t time, uint64_t size)
{
	struct process *process = &paths->processes[site->public.process];
	struct stack *stack = &paths->stacks[site->public.stack];
	struct heap_tally *tally = open_site(paths, site);

	tally->n_live--;
	tally->live_bytes -= size;
	process->public.n_live--;
	process->public.live_bytes -= size;
	paths->totals.n_live--;
	paths->totals.live_bytes -= size;
	stack->n_live--;
	stack->live_bytes -= size;
	heap_timeline_note(&paths->timeline, time, paths->totals.live_bytes);
}

/* Hook: the end of a block. */
static void block_ended(
        void *context, const struct heap_block *block, const struct heap_row *row, enum heap_end how)
{
	uint64_t end = row->time > block->time ? row->time : block->time;
	struct heap_paths *paths = context;
	struct heap_tally *tally;
	struct site *site;

	if (!block->stack_hash)
		return;
	site = &paths->sites[block->stack_hash - 1];
	tally = &site->public.tally;
	remove_live(paths, site, row->time, block->size);
	tally->lifetime += end;
	if (how == HEAP_END_EXEC || how == HEAP_END_EXIT) {
		tally->n_leaked++;
		tally->leaked_bytes += block->size;
		return;
	}
	count_lifetime(tally, end - block->time);
	if (how == HEAP_END_REPLACED) {
		paths->totals.n_overwritten++;
		return;
	}
	paths->processes[site->public.process].public.n_freed++;
	count_freed(paths, tally, block, row);
}

static int find_row_site(
        struct heap_paths *paths, const struct heap_row *row, uint32_t stack, uint64_t *ret_tag)
{
	uint32_t process, site;
	int error;

	if (stack >= paths->n_stacks)
		return -EINVAL;
	error = find_process(paths, owner_of(paths, row->pid), &process);
	if (error < 0)
		return error;
	error = find_site(paths, process, stack, &site);
	if (error < 0)
		return error;
	*ret_tag = (uint64_t)site + 1;
	return 0;
}

int heap_paths_apply(struct heap_paths *paths, const struct heap_row *row, uint32_t stack)
{
	struct heap_row tagged = *row;
	int error = 0;

	tagged.stack_hash = 0;
	if (event_is_allocation(row->kind) && stack != HEAP_NO_STACK)
		error = find_row_site(paths, row, stack, &tagged.stack_hash);
	if (error < 0)
		return error;
	error = heap_replay_apply(paths->replay, &tagged);
	if (error < 0)
		return error;
	switch (row->kind) {
	case EVENT_FORK:
		return set_owner(
		        paths, row->pid, row->shares_memory ? owner_of(paths, row->parent_pid) + 1 : 0);
	case EVENT_EXIT:
		note_exit(paths, row->pid);
		return set_owner(paths, row->pid, 0);
	case EVENT_EXEC:
		return set_owner(paths, row->pid, 0);
	default:
		return 0;
	}
}

int heap_paths_new(size_t n_stacks, uint64_t begin, uint64_t end, struct heap_paths **ret_paths)
{
	struct heap_paths *paths = calloc(1, sizeof(*paths));
	int error;

	if (!paths)
		return -ENOMEM;
	error = heap_replay_new(&paths->replay);
	paths->stacks = calloc(n_stacks ? n_stacks : 1, sizeof(*paths->stacks));
	if (error < 0 || !paths->stacks) {
		heap_paths_free(paths);
		return -ENOMEM;
	}
	heap_replay_observe(
	        paths->replay, &(struct heap_observer){
	                               .context = paths, .allocated = block_allocated, .ended = block_ended});
	paths->n_stacks = n_stacks;
	heap_timeline_init(&paths->timeline, begin, end);
	*ret_paths = paths;
	return 0;
}

void heap_paths_finish(struct heap_paths *paths, uint64_t end)
{
	struct heap_tally *tally;
	struct site *site;
	size_t i;

	for (i = 0; i < paths->n_sites; i++) {
		site = &paths->sites[i];
		tally = open_site(paths, site);
		tally->n_peak = site->tree.n;
		tally->peak_bytes = site->tree.bytes;
		tally->n_own_peak = site->own.n;
		tally->own_peak_bytes = site->own.bytes;
		tally->n_leaked += tally->n_live;
		tally->leaked_bytes += tally->live_bytes;
		tally->lifetime += tally->n_live * end;
	}
	heap_timeline_finish(&paths->timeline);
}

const struct heap_sums *heap_paths_sums(const struct heap_paths *paths)
{
	return heap_replay_sums(paths->replay);
}

const struct heap_totals *heap_paths_totals(const struct heap_paths *paths)
{
	return &paths->totals;
}

const struct heap_timeline *heap_paths_timeline(const struct heap_paths *paths)
{
	return &paths->timeline;
}

size_t heap_paths_n_sites(const struct heap_paths *paths)
{
	return paths->n_sites;
}

const struct heap_site *heap_paths_site(const struct heap_paths *paths, size_t index)
{
	return &paths->sites[index].public;
}

size_t heap_paths_n_processes(const struct heap_paths *paths)
{
	return paths->n_processes;
}

const struct heap_paths_process *heap_paths_process(const struct heap_paths *paths, size_t index)
{
	return &paths->processes[index].public;
}

const struct heap_stack_peak *heap_paths_stack_peak(const struct heap_paths *paths, size_t stack)
{
	return &paths->stacks[stack].peak;
}

void heap_tally_add(struct heap_tally *sum, const struct heap_tally *more)
{
	size_t i;

	sum->n_total += more->n_total;
	sum->total_bytes += more->total_bytes;
	sum->n_temporary += more->n_temporary;
	sum->temporary_bytes += more->temporary_bytes;
	sum->n_live += more->n_live;
	sum->live_bytes += more->live_bytes;
	sum->n_leaked += more->n_leaked;
	sum->leaked_bytes += more->leaked_bytes;
	sum->n_peak += more->n_peak;
	sum->peak_bytes += more->peak_bytes;
	sum->n_own_peak += more->n_own_peak;
	sum->own_peak_bytes += more->own_peak_bytes;
	sum->lifetime += more->lifetime;
	for (i = 0; i < HEAP_N_LIFETIMES; i++)
		sum->lifetimes[i] += more->lifetimes[i];
}
