/* batch.h: who reads which records of the ring: ranges that the workers take, convert and write, in order. */
#ifndef PLUGIN_DRAIN_BATCH_H
#define PLUGIN_DRAIN_BATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drain/ring.h"

/* What is made of one stays in a processor's second-level cache; twice as much saves 1 % of the artifact. */
#define BATCH_BYTES (256u << 10)

/* The worker's own while it has it; only `converted` is another's to read. */
struct batch {
	struct batch *next; /* in the order of the ring */
	uint64_t number;
	const void *records; /* see ring_record; until it is converted */
	size_t n_bytes;
	uint64_t end; /* position in the ring */
	bool converted;
};

struct batches {
	struct ring *ring;
	pthread_mutex_t lock;
	pthread_cond_t offered, written, closing;
	struct batch *first, **last;   /* taken and not yet released */
	uint64_t taken;                /* position in the ring behind the last one */
	unsigned n_working, n_allowed; /* workers that have a batch, and how many may */
	uint64_t n_taken;              /* number of the next one to be taken */
	uint64_t n_written;            /* number of the next one to be written */
	uint64_t looked_at, since;     /* what `taken` was when last looked at, and since when */
	bool due;                      /* less than a batch is enough */
	bool closed;                   /* nothing is added to the ring any more */
};

/* `ring` must outlive it; ended by batches_deinit. */
void batches_init(struct batches *batches, struct ring *ring, unsigned n_allowed);

/* Lets workers take what is worth it, or older than max_age (ns). `now`: the time, in ns. */
void batches_offer(struct batches *batches, uint64_t now, uint64_t max_age);

/* Waits until the batches are closed or a time in ns has passed. Returns whether they are. */
bool batches_await_close(struct batches *batches, uint64_t ns);

/* Takes the next batch once the caller may work. Returns false when there will be none. */
bool batches_take(struct batches *batches, struct batch *batch);

/* Its records are not needed any more. */
void batches_release(struct batches *batches, struct batch *batch);

/* Waits until all batches before this one were written. */
void batches_await_turn(struct batches *batches, const struct batch *batch);

/* The batch was written: the next one may be. */
void batches_done(struct batches *batches);

/* Nothing is added to the ring any more; from now on n_allowed workers may work. */
void batches_close(struct batches *batches, unsigned n_allowed);

/* All workers have ended. */
void batches_deinit(struct batches *batches);

#endif
