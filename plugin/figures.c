/* figures.c: names of counters and figures. */
#include "figures.h"

/* A definition that found the ring full is not lost by itself: the next use of the stack defines it. Hashes that
 * stay undefined are found when the artifact is read back. */
static const char *const lost_names[LOST_N] = {
	[LOST_RING_EVENTS] = "ring_full",
	[LOST_PENDING] = "too_many_open_calls",
	[LOST_THREADS] = "threads_without_state",
	[LOST_PROCESSES] = "processes_over_limit",
	[LOST_SCRATCH] = "stacks_without_buffer",
	[LOST_STACKS] = "stacks_unreadable",
	[LOST_RESULTS] = "results_unreadable",
	[LOST_MAPPINGS] = "mappings_without_file",
};

size_t figures_lost(const struct programs *programs, const struct artifact_writer *writer,
	const struct convert_counts *counts, struct dump_lost ret_lost[FIGURES_N_LOST])
{
	size_t n = 0;

	for (int i = 0; i < LOST_N; i++)
		if (lost_names[i])
			ret_lost[n++] = (struct dump_lost){lost_names[i], programs_lost(programs, i)};
	ret_lost[n++] = (struct dump_lost){"artifact_unwritten", writer ? artifact_writer_n_lost(writer) : 0};
	ret_lost[n++] = (struct dump_lost){"events_unencoded", counts->n_unencoded};
	return n;
}

struct list {
	struct runner_figure *figures;
	uint32_t n_space;
	int n;
};

static void add(struct list *list, const char *key, const char *label, uint64_t value, uint32_t unit, uint32_t flags)
{
	if ((uint32_t)list->n < list->n_space)
		list->figures[list->n] = (struct runner_figure){key, label, value, unit, flags};
	list->n++;
}

static void add_lost(struct list *list, const struct figures_source *source)
{
	struct dump_lost lost[FIGURES_N_LOST];
	size_t n = figures_lost(source->programs, source->writer, source->counts, lost);
	uint64_t sum = source->result ? source->result->n_undefined : 0;

	for (size_t i = 0; i < n; i++)
		sum += lost[i].value;
	add(list, "lost", "lost", sum, RUNNER_UNIT_COUNT,
		RUNNER_FIGURE_LIVE | RUNNER_FIGURE_SUMMARY | RUNNER_FIGURE_BAD);
}

static void add_live(struct list *list, const struct figures_source *source)
{
	const struct convert_counts *counts = source->counts;

	add(list, "allocations", "allocations", __atomic_load_n(&counts->n_allocations, __ATOMIC_RELAXED),
		RUNNER_UNIT_COUNT, RUNNER_FIGURE_LIVE);
	if (source->with_stacks)
		add(list, "distinct_stacks", "stacks", __atomic_load_n(&counts->n_definitions, __ATOMIC_RELAXED),
			RUNNER_UNIT_COUNT, RUNNER_FIGURE_LIVE);
	add(list, "live_bytes", "live", __atomic_load_n(&counts->live_bytes, __ATOMIC_RELAXED), RUNNER_UNIT_BYTES,
		RUNNER_FIGURE_LIVE);
	add(list, "peak_bytes", "peak", __atomic_load_n(&counts->peak_bytes, __ATOMIC_RELAXED), RUNNER_UNIT_BYTES,
		RUNNER_FIGURE_LIVE);
}

static void add_final(struct list *list, const struct figures_source *source)
{
	const struct dump_result *result = source->result;
	const struct heap_sums *sums = &result->sums;

	add(list, "allocations", "allocations", sums->n_allocations, RUNNER_UNIT_COUNT, RUNNER_FIGURE_SUMMARY);
	add(list, "frees", "frees", sums->n_frees, RUNNER_UNIT_COUNT, RUNNER_FIGURE_SUMMARY);
	add(list, "bytes_allocated", "total allocated", sums->bytes_allocated, RUNNER_UNIT_BYTES,
		RUNNER_FIGURE_SUMMARY);
	add(list, "peak_bytes", "peak live", sums->peak_bytes, RUNNER_UNIT_BYTES, RUNNER_FIGURE_SUMMARY);
	add(list, "live_bytes", "live at the end", sums->live_bytes, RUNNER_UNIT_BYTES, RUNNER_FIGURE_SUMMARY);
	add(list, "live_blocks", "blocks live at the end", sums->live_blocks, RUNNER_UNIT_COUNT, 0);
	if (source->with_stacks) {
		add(list, "distinct_stacks", "distinct stacks", result->n_hashes, RUNNER_UNIT_COUNT,
			RUNNER_FIGURE_SUMMARY);
		add(list, "truncated_stacks", "stacks cut at the budget", result->n_truncated, RUNNER_UNIT_COUNT,
			RUNNER_FIGURE_SUMMARY);
		add(list, "allocations_without_stack", "without stack", result->n_without_stack, RUNNER_UNIT_COUNT,
			RUNNER_FIGURE_SUMMARY | RUNNER_FIGURE_BAD);
	}
	add(list, "processes", "processes", result->n_processes, RUNNER_UNIT_COUNT, RUNNER_FIGURE_SUMMARY);
	add(list, "modules", "modules", result->n_modules, RUNNER_UNIT_COUNT, RUNNER_FIGURE_SUMMARY);
	add(list, "modules_unreadable", "modules unreadable", result->n_unreadable, RUNNER_UNIT_COUNT, 0);
	add(list, "artifact_bytes", "artifact", source->writer ? artifact_writer_n_bytes(source->writer) : 0,
		RUNNER_UNIT_BYTES, RUNNER_FIGURE_SUMMARY);
	add(list, "calls_abandoned", "calls that never returned", programs_note(source->programs, NOTE_ABANDONED),
		RUNNER_UNIT_COUNT, 0);
	add(list, "calls_nested", "calls inside other calls", programs_note(source->programs, NOTE_MUTED),
		RUNNER_UNIT_COUNT, 0);
	add(list, "stack_pages_absent", "stack pages never touched", programs_note(source->programs, NOTE_HOLES),
		RUNNER_UNIT_COUNT, 0);
	add(list, "stacks_by_code_pointers", "stacks identified by code pointers",
		programs_note(source->programs, NOTE_BY_CODE), RUNNER_UNIT_COUNT, 0);
	add(list, "producer_waits", "waits for the recorder", programs_note(source->programs, NOTE_WAITS),
		RUNNER_UNIT_COUNT, 0);
	add(list, "producer_waited", "time waited for the recorder", programs_note(source->programs, NOTE_WAITED),
		RUNNER_UNIT_NANOSECONDS, 0);
	add(list, "unwind_rules_bytes", "unwind rules in the kernel", programs_rules_bytes(source->programs),
		RUNNER_UNIT_BYTES, 0);
	add(list, "stacks_by_raw_bytes", "stacks identified by raw bytes",
		programs_note(source->programs, NOTE_RAW), RUNNER_UNIT_COUNT, 0);
}

int figures_fill(const struct figures_source *source, struct runner_figure *ret_figures, uint32_t n_figures)
{
	struct list list = {.figures = ret_figures, .n_space = n_figures};

	if (source->result)
		add_final(&list, source);
	else
		add_live(&list, source);
	add_lost(&list, source);
	return list.n;
}

int figures_fill_benchmark(const struct benchmark *benchmark, const struct benchmark_heap *heap,
	struct runner_figure *ret_figures, uint32_t n_figures)
{
	struct list list = {.figures = ret_figures, .n_space = n_figures};

	add(&list, "allocs", "allocs", heap->n_allocations, RUNNER_UNIT_COUNT, RUNNER_FIGURE_SUMMARY);
	add(&list, "bytes", "bytes", heap->bytes_allocated, RUNNER_UNIT_BYTES, RUNNER_FIGURE_SUMMARY);
	add(&list, "peak", "peak", heap->peak_bytes, RUNNER_UNIT_BYTES, RUNNER_FIGURE_SUMMARY);
	add(&list, "stacks", "stacks", heap->n_stacks, RUNNER_UNIT_COUNT, RUNNER_FIGURE_SUMMARY);
	add(&list, "freed_from_before", "freed from before", heap->n_freed_from_before, RUNNER_UNIT_COUNT, 0);
	add(&list, "freed_from_before_bytes", "bytes freed from before", heap->bytes_freed_from_before, RUNNER_UNIT_BYTES,
		0);
	add(&list, "live_after_stop", "live after stop", heap->n_live_after_stop, RUNNER_UNIT_COUNT, 0);
	add(&list, "live_after_stop_bytes", "bytes live after stop", heap->bytes_live_after_stop, RUNNER_UNIT_BYTES, 0);
	add(&list, "samples", "samples", benchmark->n_windows, RUNNER_UNIT_COUNT, 0);
	add(&list, "time_ns", "time", benchmark->duration, RUNNER_UNIT_NANOSECONDS, 0);
	return list.n;
}
