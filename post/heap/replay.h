/* replay.h: the heap of a process tree over time, from its events.
 *
 * Addresses belong to a process image: Fork copies the live set (inherited blocks count once, in the process
 * that allocated them: in the copy they have size 0), Exec and Exit clear it, a Fork that shares memory
 * shares it until one of the two execs or exits. A Realloc ends its old block at `entered`.
 */
#ifndef POST_HEAP_REPLAY_H
#define POST_HEAP_REPLAY_H

#include <stdint.h>

#include "artifact/event.h"

struct heap_replay;

/* Sums over everything added so far. Bytes and counts. */
struct heap_sums {
	uint64_t n_allocations; /* Malloc, Calloc, AlignedAlloc, Realloc */
	uint64_t n_frees;
	uint64_t bytes_allocated; /* sum of all sizes asked for */
	uint64_t live_bytes;      /* over the whole process tree */
	uint64_t live_blocks;
	uint64_t peak_bytes; /* the largest live_bytes */
	uint64_t peak_time;  /* timestamp of the event that reached it first */
	uint64_t n_unseen_frees;
	uint64_t n_over_live; /* allocations at an address that was live */
};

/* 0 or -ENOMEM. */
int heap_replay_new(struct heap_replay **ret_replay);

/* Adds one event; events must come in replay order (timestamp, then stream order; a Realloc is given at its
 * own timestamp, its old block having been ended by heap_replay_end_block at `entered`: see order.h).
 * Events without meaning for the heap are accepted and ignored. 0 or -ENOMEM. */
int heap_replay_add(struct heap_replay *replay, const struct event *event);

/* Ends the block at `addr` of process `pid` (the first half of a Realloc with old_addr). */
void heap_replay_end_block(struct heap_replay *replay, uint32_t pid, uint64_t addr);

const struct heap_sums *heap_replay_sums(const struct heap_replay *replay);

/* NULL-safe; returns NULL. */
struct heap_replay *heap_replay_free(struct heap_replay *replay);

#endif
