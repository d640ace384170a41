/* process.h: what lay where in one process, at any time of the run. */
#ifndef POST_RESOLVE_PROCESS_H
#define POST_RESOLVE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resolve/metadata.h"
#include "resolve/module.h"
#include "resolve/overlay.h"

/* A module at its place; found by process_find. */
struct process_placement {
	struct module *module;
	uint64_t time;      /* ns */
	uint64_t base_avma; /* where has_base */
	bool has_base;
	bool bias_known;
	uint64_t bias; /* AVMA - SVMA */
};

struct process {
	uint32_t pid;
	bool prepared;
	struct process_placement *placements;
	size_t n_placements;
	struct overlay *ranges;  /* of placements whose range is stated */
	struct overlay *guesses; /* of those whose range follows from their symbols */
	struct overlay *ignored;
	struct symbols generated; /* code made at run time: perf-<pid>.map */
	uint64_t *image_ends;     /* ns */
	bool image_ends_sorted;
	size_t n_image_ends;
	size_t n_image_ends_allocated;
};

/* `folder` and `modules` are borrowed. `info` is what the metadata have of the process, or NULL. */
int process_prepare(struct process *process, const struct module_folder *folder,
        const struct metadata_process *info, struct module *modules);

/* The module at an address at a time, with its bias; NULL where there is none. *ret_placement belongs to the
 * process. 0 or -ENOMEM. */
int process_find(struct process *process, uint64_t address, uint64_t time,
        const struct process_placement **ret_placement);

bool process_ignores(const struct process *process, uint64_t address);

/* 0 or -ENOMEM. */
int process_end_image(struct process *process, uint64_t time);

void process_deinit(struct process *process);

#endif
