/* replay.h: the heap of a process tree over time, from its events in replay order (see order.h).
 *
 * Addresses belong to a process image: Fork copies the live set (inherited blocks count once, in the process
 * that allocated them: in the copy they have size 0), Exec and Exit clear it, a Fork that shares memory
 * shares it until one of the two execs or exits. A Realloc ends its old block at `entered`.
 */
#ifndef POST_HEAP_REPLAY_H
#define POST_HEAP_REPLAY_H

#include <stdint.h>

#include "heap/order.h"

struct heap_replay;

/* `time` of a block that was copied by a fork; its size and stack_hash are 0. */
#define HEAP_TIME_INHERITED UINT64_MAX

/* A live block. */
struct heap_block {
	uint64_t addr;
	uint64_t size; /* bytes asked for */
	uint64_t stack_hash;
	uint64_t time; /* ns, when it was allocated */
};

enum heap_end {
	HEAP_END_FREE,
	HEAP_END_REALLOC,
	HEAP_END_REPLACED, /* an allocation returned the address of a live block: its free was not seen */
	HEAP_END_EXEC,     /* the image it belonged to is gone */
	HEAP_END_EXIT,
};

/* Who wants to see every block. Any hook may be NULL. All are called within heap_replay_apply, before the
 * sums change; n_peaks (see below) tells afterwards whether the row made a new peak. */
struct heap_observer {
	void *context;
	/* `row` allocates a block. A negative return ends heap_replay_apply with it. */
	int (*allocated)(void *context, const struct heap_row *row);
	/* `block` ends by `row`; inherited blocks too. */
	void (*ended)(
	        void *context, const struct heap_block *block, const struct heap_row *row, enum heap_end how);
};

/* Sums over everything applied so far. Bytes and counts. */
struct heap_sums {
	uint64_t n_allocations;   /* Malloc, Calloc, AlignedAlloc, Realloc */
	uint64_t n_frees;         /* Free, and Realloc with an old block */
	uint64_t bytes_allocated; /* sum of all sizes asked for */
	uint64_t live_bytes;      /* over the whole process tree */
	uint64_t live_blocks;     /* without inherited ones */
	uint64_t peak_bytes;      /* the largest live_bytes */
	uint64_t peak_time;       /* time of the row that reached it first */
	uint64_t n_peaks;         /* how many rows made a new peak */
	uint64_t n_unseen_frees;
	uint64_t n_over_live; /* allocations at an address that was live */
};

/* What one process did. Memory shared by a Fork belongs to the process that shared it first. */
struct heap_process {
	uint32_t pid;
	uint64_t n_allocations; /* by this process */
	uint64_t n_frees;
	uint64_t bytes_allocated;
	uint64_t live_bytes; /* in memory that belongs to this process */
	uint64_t peak_bytes;
	uint64_t peak_time;
};

/* 0 or -ENOMEM. */
int heap_replay_new(struct heap_replay **ret_replay);

/* `observer` is copied; NULL: nobody. */
void heap_replay_observe(struct heap_replay *replay, const struct heap_observer *observer);

/* Applies one row. 0, -ENOMEM, or what the observer returned; after an error the sums mean nothing. */
int heap_replay_apply(struct heap_replay *replay, const struct heap_row *row);

const struct heap_sums *heap_replay_sums(const struct heap_replay *replay);

/* Every process that allocated or freed, in the order of their first rows; the array is the replay's and
 * valid until the next row. Returns their number. */
size_t heap_replay_processes(const struct heap_replay *replay, const struct heap_process **ret_processes);

/* Calls `visit` for every block that is live now, inherited ones too, in no particular order, with the
 * process it belongs to. */
void heap_replay_each_live(const struct heap_replay *replay,
        void (*visit)(void *context, const struct heap_block *block, uint32_t pid), void *context);

/* NULL-safe; returns NULL. */
struct heap_replay *heap_replay_free(struct heap_replay *replay);

#endif
