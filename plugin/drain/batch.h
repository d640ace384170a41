/* batch.h: records on their way from the ring to the workers: buffers that go round. */
#ifndef PLUGIN_DRAIN_BATCH_H
#define PLUGIN_DRAIN_BATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BATCH_BYTES (1u << 20)
#define MAX_BATCHES 96u /* bounds the memory: when all are under way, records wait in the ring */

struct batch {
	struct batch *next;
	uint64_t number; /* in the order in which they were filled */
	size_t n_bytes;
	_Alignas(8) char data[BATCH_BYTES];
};

/* A zeroed one plus batches_init. */
struct batches {
	pthread_mutex_t lock;
	pthread_cond_t filled, freed, written;
	struct batch *first, **last; /* full ones, in order */
	struct batch *empty;
	unsigned n_batches;
	unsigned n_working, n_allowed; /* workers that have a batch, and how many may */
	uint64_t n_filled;             /* number of the next one to be filled */
	uint64_t n_written;            /* number of the next one to be written */
	bool closed;                   /* no more will be filled */
};

/* 0 or -ENOMEM; ended by batches_deinit in either case. */
int batches_init(struct batches *batches, unsigned n_allowed);

/* An empty batch; waits while all are under way. */
struct batch *batches_take_empty(struct batches *batches);

/* Gives a full one to the workers. */
void batches_fill(struct batches *batches, struct batch *batch);

/* The next full one, when the caller may work; NULL when there will be none. */
struct batch *batches_take_full(struct batches *batches);

/* Waits until all batches before this one were written. */
void batches_await_turn(struct batches *batches, const struct batch *batch);

/* The batch was written: the next one may be, and it is empty again. */
void batches_done(struct batches *batches, struct batch *batch);

/* No more will be filled, and from now on n_allowed workers may work. `unused`: the batch that was being filled. */
void batches_close(struct batches *batches, struct batch *unused, unsigned n_allowed);

/* All workers have ended. */
void batches_deinit(struct batches *batches);

#endif
