/* convert.h: the kernel side's records to events of the artifact. */
#ifndef PLUGIN_DRAIN_CONVERT_H
#define PLUGIN_DRAIN_CONVERT_H

#include <stddef.h>
#include <stdint.h>

#include "artifact/writer.h"
#include "drain/names.h"
#include "heap/replay.h"
#include "track/files.h"

/* Counts for people, written by one thread and read by others. */
struct convert_counts {
	uint64_t n_events;
	uint64_t n_allocations;
	uint64_t n_definitions;
	uint64_t live_bytes; /* 0 without a live heap */
	uint64_t peak_bytes;
	uint64_t n_malformed; /* records that were no records: lost */
};

struct converter {
	struct artifact_writer *writer;
	struct files *files;
	struct names names;
	struct heap_replay *live; /* NULL: nobody watches while the command runs */
	struct convert_counts counts;
	uint64_t stack_copy[FP_CHAIN_MAX];
};

/* Converts one record and adds its event to the artifact. 0 or a negative errno of the artifact's file. */
int converter_add(struct converter *converter, const void *record, uint32_t size);

#endif
