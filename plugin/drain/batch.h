/* batch.h: which worker does what with which records of the ring.
 *
 * A batch is a range of records. A worker takes it, converts it, releases its records and packs them as a frame. It
 * is written in its turn by a worker that has just packed one, this or an earlier one: nobody waits for a turn, so a
 * worker that does not get a processor holds nobody up as long as there are batches left.
 */
#ifndef PLUGIN_DRAIN_BATCH_H
#define PLUGIN_DRAIN_BATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "artifact/frame.h"
#include "drain/ring.h"

/* What is made of one stays in a processor's second-level cache; four times as much saves 1 % of the artifact. */
#define BATCH_BYTES (256u << 10)

/* While a worker has one, as many more may wait for their turn. Bounds the memory: when there is none left, records
 * wait in the ring. */
#define BATCHES_PER_WORKER 2u

struct batch {
	struct batch *next;  /* in the order of the ring; or the next one that is free */
	const void *records; /* see ring_record; until they are released */
	size_t n_bytes;
	uint64_t end; /* position in the ring */
	bool is_converted, is_packed;
	struct artifact_packed packed;
};

struct batches {
	struct ring *ring;
	pthread_mutex_t lock;
	pthread_cond_t offered, closing;
	struct batch *all;
	unsigned n_all;
	struct batch *free;
	struct batch *first, **last; /* taken and not yet written */
	struct batch *unreleased;    /* the first of them whose records are still there */
	uint64_t taken;              /* position in the ring behind the last one */
	bool writing;                /* a worker is at the first batch */
	uint64_t looked_at, since;   /* what `taken` was when last looked at, and since when */
	bool due;                    /* less than a batch is enough */
	bool closed;                 /* nothing is added to the ring any more */
};

/* A zeroed one plus batches_init; `ring` must outlive it. 0 or -ENOMEM; ended by batches_deinit in either case. */
int batches_init(struct batches *batches, struct ring *ring, unsigned n_workers);

/* Lets workers take what is worth it, or older than max_age (ns). `now`: the time, in ns. */
void batches_offer(struct batches *batches, uint64_t now, uint64_t max_age);

/* Waits until the batches are closed or a time in ns has passed. Returns whether they are. */
bool batches_await_close(struct batches *batches, uint64_t ns);

/* Takes the next batch; a `spare` worker only once they are closed. NULL when there will be none. */
struct batch *batches_take(struct batches *batches, bool spare);

/* Its records were converted and are not needed any more. */
void batches_release(struct batches *batches, struct batch *batch);

/* It was packed. Returns the batch that the caller has to write now and say so of; NULL: none, so it may take one. */
struct batch *batches_packed(struct batches *batches, struct batch *batch);

/* It was written. Returns the next one to write, as above. */
struct batch *batches_written(struct batches *batches, struct batch *batch);

/* Nothing is added to the ring any more, and all workers may work. */
void batches_close(struct batches *batches);

/* All workers have ended. */
void batches_deinit(struct batches *batches);

#endif
