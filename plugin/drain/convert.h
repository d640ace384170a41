/* convert.h: the kernel side's records to events of the artifact. */
#ifndef PLUGIN_DRAIN_CONVERT_H
#define PLUGIN_DRAIN_CONVERT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "artifact/frame.h"
#include "drain/names.h"
#include "heap/replay.h"
#include "track/files.h"

/* Counts for people, written by the workers and read by anybody. */
struct convert_counts {
	uint64_t n_events;
	uint64_t n_allocations;
	uint64_t n_definitions;
	uint64_t live_bytes; /* 0 without a live heap */
	uint64_t peak_bytes;
	uint64_t n_unencoded; /* lost: no record, or no memory for its event */
};

/* Shared by all workers. */
struct converter {
	struct files *files;
	struct untraced *untraced;
	pthread_mutex_t lock; /* over names */
	struct names names;
	struct heap_replay *live; /* not NULL: somebody watches while the command runs; then there is one worker */
	struct convert_counts counts;
};

/* Converts the n records of a batch (see ring_record) into a frame. Any number of threads, each with a frame of its
 * own. */
void converter_run(struct converter *converter, const void *batch, size_t n, struct artifact_frame *frame);

#endif
