/* figures.h: what there is to show about a run, and what was lost in it. */
#ifndef PLUGIN_FIGURES_H
#define PLUGIN_FIGURES_H

#include "artifact/writer.h"
#include "drain/convert.h"
#include "kernel/programs.h"
#include "profile/dump.h"
#include "runner_plugin.h"

#define FIGURES_N_LOST (LOST_N + 2)

struct figures_source {
	const struct programs *programs;
	const struct artifact_writer *writer; /* NULL before the artifact exists */
	const struct convert_counts *counts;
	const struct dump_result *result; /* NULL while the command runs */
	bool with_stacks;
};

/* See runner_plugin.figures. */
int figures_fill(const struct figures_source *source, struct runner_figure *ret_figures, uint32_t n_figures);

/* See runner_plugin.benchmark_figures. */
int figures_fill_benchmark(const struct benchmark *benchmark, const struct benchmark_heap *heap,
	struct runner_figure *ret_figures, uint32_t n_figures);

/* Every place where an event can be lost, with its count; returns how many. `writer` may be NULL. */
size_t figures_lost(const struct programs *programs, const struct artifact_writer *writer,
	const struct convert_counts *counts, struct dump_lost ret_lost[FIGURES_N_LOST]);

#endif
