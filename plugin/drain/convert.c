/* convert.c: record by record. */
#include "drain/convert.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drain/ring.h"

_Static_assert(RECORD_N_REGS == EVENT_N_REGS, "both sides have the same registers");

/* Where events point to until they are encoded. */
struct scratch {
	char path[4096];
	uint64_t fp_chain[FP_CHAIN_MAX];
};

/* Records have fixed sizes, but what comes from outside is checked. */
#define AS(type, record, size) ((size) >= sizeof(type) ? (const type *)(record) : NULL)

static bool convert_map(const void *record, uint32_t size, struct event *event)
{
	const struct record_map *map = AS(struct record_map, record, size);

	if (!map)
		return false;
	event->addr = map->addr;
	event->size = map->size;
	return true;
}

static bool convert_process(struct converter *converter, const void *record, uint32_t size, struct event *event)
{
	const struct record_process *process = AS(struct record_process, record, size);

	if (!process)
		return false;
	event->parent_pid = process->parent_pid;
	event->shares_memory = process->head.flags & RECORD_FLAG_SHARES_MEMORY;
	pthread_mutex_lock(&converter->lock);
	/* Without memory for a name the process keeps its last one. */
	(void)names_set(&converter->names, event->pid, process->comm, event->timestamp, event->type == EVENT_EXIT);
	pthread_mutex_unlock(&converter->lock);
	return true;
}

static bool convert_mapping(struct converter *converter, const void *record, uint32_t size, struct event *event,
	struct scratch *scratch)
{
	char *path = scratch->path;
	size_t n_path = sizeof(scratch->path);
	const struct record_mapping *mapping = AS(struct record_mapping, record, size);

	if (!mapping)
		return false;
	if (files_path(converter->files, mapping->dev, mapping->ino, path, n_path)) {
		snprintf(path, n_path, "[inode %llu of device %llu:%llu]", (unsigned long long)mapping->ino,
			(unsigned long long)mapping->dev >> 20, (unsigned long long)mapping->dev & 0xfffff);
		untraced_add(converter->untraced, path, event->pid, "it was mapped for execution without being seen before");
	}
	event->addr = mapping->addr;
	event->mapping = (struct event_mapping){
		.path = path,
		.n_path = strlen(path),
		.dev = mapping->dev,
		.ino = mapping->ino,
		.file_offset = mapping->file_offset,
		.len = mapping->len,
	};
	return true;
}

static bool convert_stack(const void *record, uint32_t size, struct event *event, struct scratch *scratch)
{
	const struct record_stack *stack = AS(struct record_stack, record, size);
	const uint8_t *bytes = (const uint8_t *)(stack + 1);
	size_t n_padded;

	if (!stack || stack->n_bytes > STACK_BUDGET_MAX || stack->n_fp_chain > FP_CHAIN_MAX)
		return false;
	n_padded = (stack->n_bytes + 7) & ~(size_t)7;
	if (size < sizeof(*stack) + n_padded + stack->n_fp_chain * sizeof(uint64_t))
		return false;
	memcpy(scratch->fp_chain, bytes + n_padded, stack->n_fp_chain * sizeof(uint64_t));
	event->stack = (struct event_stack){
		.hash = stack->hash,
		.sp = stack->sp,
		.bytes = bytes,
		.n_bytes = stack->n_bytes,
		.fp_chain = scratch->fp_chain,
		.n_fp_chain = stack->n_fp_chain,
		.truncated = stack->head.flags & RECORD_FLAG_TRUNCATED,
	};
	memcpy(event->stack.regs, stack->regs, sizeof(stack->regs));
	return true;
}

static const enum event_type types[] = {
	[RECORD_MALLOC] = EVENT_MALLOC,
	[RECORD_CALLOC] = EVENT_CALLOC,
	[RECORD_ALIGNED_ALLOC] = EVENT_ALIGNED_ALLOC,
	[RECORD_REALLOC] = EVENT_REALLOC,
	[RECORD_FREE] = EVENT_FREE,
	[RECORD_MMAP] = EVENT_MMAP,
	[RECORD_MUNMAP] = EVENT_MUNMAP,
	[RECORD_BRK] = EVENT_BRK,
	[RECORD_FORK] = EVENT_FORK,
	[RECORD_EXEC] = EVENT_EXEC,
	[RECORD_EXIT] = EVENT_EXIT,
	[RECORD_MAPPING] = EVENT_MAPPING,
	[RECORD_STACK] = EVENT_STACK_DEFINITION,
};

static bool convert(struct converter *converter, const struct record_head *head, uint32_t size, struct event *event,
	struct scratch *scratch)
{
	if (head->kind < RECORD_MMAP || head->kind > RECORD_STACK)
		return false;
	event->type = types[head->kind];
	event->pid = head->pid;
	event->tid = head->tid;
	event->timestamp = head->timestamp;
	switch (event->type) {
	case EVENT_MMAP:
	case EVENT_MUNMAP:
	case EVENT_BRK:
		return convert_map(head, size, event);
	case EVENT_FORK:
	case EVENT_EXEC:
	case EVENT_EXIT:
		return convert_process(converter, head, size, event);
	case EVENT_MAPPING:
		return convert_mapping(converter, head, size, event, scratch);
	default:
		return convert_stack(head, size, event, scratch);
	}
}

/* How many words a call has; 0: that is no call. */
static size_t call_words(uint32_t kind)
{
	switch (kind) {
	case RECORD_FREE:
		return CALL_WORDS_FREE;
	case RECORD_MALLOC:
	case RECORD_CALLOC:
	case RECORD_ALIGNED_ALLOC:
		return CALL_WORDS_ALLOC;
	case RECORD_REALLOC:
		return CALL_WORDS_REALLOC;
	}
	return 0;
}

/* One call out of the n words at `words`. Returns how many it took, 0 when that is no call. */
static size_t convert_call(const uint64_t *words, size_t n, struct event *event)
{
	uint32_t kind = CALL_KIND(words[0]);
	size_t n_words = call_words(kind);

	if (!n_words || n_words > n)
		return 0;
	event->type = types[kind];
	event->pid = CALL_PID(words[1]);
	event->tid = CALL_TID(words[1]);
	event->timestamp = CALL_TIME(words[0]);
	event->addr = words[2];
	if (n_words >= CALL_WORDS_ALLOC) {
		event->size = words[3];
		event->stack_hash = words[4];
	}
	if (n_words >= CALL_WORDS_REALLOC) {
		event->old_addr = words[5];
		event->entered = words[6];
	}
	return n_words;
}

/* In order of arrival, which is near enough for a figure that moves. */
static void replay_live(struct converter *converter, const struct event *event)
{
	struct convert_counts *counts = &converter->counts;
	struct heap_row rows[2];
	unsigned n_rows = heap_rows_of(event, rows);

	for (unsigned i = 0; i < n_rows; i++)
		if (heap_replay_apply(converter->live, &rows[i])) {
			converter->live = heap_replay_free(converter->live);
			return;
		}
	__atomic_store_n(&counts->live_bytes, heap_replay_sums(converter->live)->live_bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&counts->peak_bytes, heap_replay_sums(converter->live)->peak_bytes, __ATOMIC_RELAXED);
}

static void publish(struct convert_counts *to, const struct convert_counts *from)
{
	__atomic_fetch_add(&to->n_events, from->n_events, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->n_allocations, from->n_allocations, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->n_definitions, from->n_definitions, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->n_unencoded, from->n_unencoded, __ATOMIC_RELAXED);
}

static void add_event(struct converter *converter, const struct event *event, struct artifact_frame *frame,
	struct convert_counts *counts)
{
	if (artifact_frame_add(frame, event)) {
		counts->n_unencoded++;
		return;
	}
	counts->n_events++;
	counts->n_allocations += event_is_allocation(event->type);
	counts->n_definitions += event->type == EVENT_STACK_DEFINITION;
	if (converter->live)
		replay_live(converter, event);
}

static void add_calls(struct converter *converter, const struct record_head *head, uint32_t size,
	struct artifact_frame *frame, struct convert_counts *counts)
{
	const uint64_t *words = (const uint64_t *)(head + 1);
	size_t n = (size - sizeof(*head)) / sizeof(*words), taken;

	for (; n; words += taken, n -= taken) {
		struct event event = {};

		taken = convert_call(words, n, &event);
		if (!taken) {
			counts->n_unencoded++;
			return;
		}
		add_event(converter, &event, frame, counts);
	}
}

void converter_run(struct converter *converter, const void *batch, size_t n, struct artifact_frame *frame)
{
	struct convert_counts counts = {};
	struct scratch scratch;
	const void *record;
	uint32_t size;
	size_t at = 0;

	while ((record = ring_record(batch, n, &at, &size))) {
		const struct record_head *head = AS(struct record_head, record, size);
		struct event event = {};

		if (head && head->kind == RECORD_CALLS)
			add_calls(converter, head, size, frame, &counts);
		else if (head && convert(converter, head, size, &event, &scratch))
			add_event(converter, &event, frame, &counts);
		else
			counts.n_unencoded++;
	}
	publish(&converter->counts, &counts);
}
