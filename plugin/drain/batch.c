/* batch.c: one lock, taken a few times per batch, not per record.
 *
 * Records are not copied out of the ring: that took a fifth of the time that encoding them takes, most of it on the
 * processor that a second worker could have used. Their space is free again as soon as they are converted, before
 * they are packed or written. */
#include "drain/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "record.h"

_Static_assert(BATCH_BYTES / 2 > sizeof(struct record_stack) + STACK_BUDGET_MAX + FP_CHAIN_MAX * sizeof(uint64_t),
	"a batch is more than half full, whatever the next record is");

int batches_init(struct batches *batches, struct ring *ring, unsigned n_workers)
{
	pthread_condattr_t monotonic;

	batches->ring = ring;
	batches->taken = ring_first(ring);
	batches->last = &batches->first;
	pthread_mutex_init(&batches->lock, NULL);
	pthread_cond_init(&batches->offered, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&batches->closing, &monotonic);
	pthread_condattr_destroy(&monotonic);
	batches->all = calloc(n_workers * BATCHES_PER_WORKER, sizeof(*batches->all));
	if (!batches->all)
		return -ENOMEM;
	batches->n_all = n_workers * BATCHES_PER_WORKER;
	for (unsigned i = 0; i < batches->n_all; i++) {
		batches->all[i].next = batches->free;
		batches->free = &batches->all[i];
	}
	return 0;
}

/* Bytes that nobody has taken. */
static uint64_t n_waiting(const struct batches *batches)
{
	return ring_end(batches->ring) - batches->taken;
}

/* Whether it is worth looking for a batch: there may still be none, where a record is not complete. */
static bool worthwhile(const struct batches *batches)
{
	return batches->free && n_waiting(batches) >= (batches->due || batches->closed ? 1 : BATCH_BYTES);
}

/* Each calls one other, as long as there is something to do. */
static void call_worker(struct batches *batches)
{
	if (worthwhile(batches))
		pthread_cond_signal(&batches->offered);
}

void batches_offer(struct batches *batches, uint64_t now, uint64_t max_age)
{
	pthread_mutex_lock(&batches->lock);
	if (batches->looked_at != batches->taken || n_waiting(batches) == 0) {
		batches->looked_at = batches->taken;
		batches->since = now;
	}
	batches->due = now - batches->since > max_age;
	call_worker(batches);
	pthread_mutex_unlock(&batches->lock);
}

bool batches_await_close(struct batches *batches, uint64_t ns)
{
	struct timespec until;
	bool closed;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += until.tv_nsec;
	until.tv_sec += ns / 1000000000u;
	until.tv_nsec = ns % 1000000000u;
	pthread_mutex_lock(&batches->lock);
	while (!batches->closed && pthread_cond_timedwait(&batches->closing, &batches->lock, &until) == 0)
		continue;
	closed = batches->closed;
	pthread_mutex_unlock(&batches->lock);
	return closed;
}

/* Appends a free batch to those that were taken. */
static struct batch *add(struct batches *batches, const void *records, size_t n)
{
	struct batch *batch = batches->free;

	batches->free = batch->next;
	batches->taken += n;
	batches->due = false;
	*batch = (struct batch){
		.records = records, .n_bytes = n, .end = batches->taken, .packed = batch->packed};
	*batches->last = batch;
	batches->last = &batch->next;
	if (!batches->unreleased)
		batches->unreleased = batch;
	return batch;
}

static struct batch *try_to_take(struct batches *batches)
{
	size_t least = batches->due || batches->closed ? 1 : BATCH_BYTES / 2, n;
	const void *records;

	if (!worthwhile(batches))
		return NULL;
	/* This also brings the records into the cache of the one who will read them. */
	n = ring_range(batches->ring, batches->taken, BATCH_BYTES, &records);
	return n >= least ? add(batches, records, n) : NULL;
}

/* After the end, records that are not complete yet are waited for, and nobody says when they are. */
static void wait_for_more(struct batches *batches)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (!batches->closed || !batches->free) {
		pthread_cond_wait(&batches->offered, &batches->lock);
		return;
	}
	pthread_mutex_unlock(&batches->lock);
	nanosleep(&pause, NULL);
	pthread_mutex_lock(&batches->lock);
}

struct batch *batches_take(struct batches *batches, bool spare)
{
	struct batch *batch;

	pthread_mutex_lock(&batches->lock);
	while (spare && !batches->closed)
		pthread_cond_wait(&batches->closing, &batches->lock);
	while (!(batch = try_to_take(batches)) && !(batches->closed && n_waiting(batches) == 0))
		wait_for_more(batches);
	if (batch)
		call_worker(batches);
	else
		pthread_cond_broadcast(&batches->offered); /* it is the end for all of them */
	pthread_mutex_unlock(&batches->lock);
	return batch;
}

void batches_release(struct batches *batches, struct batch *batch)
{
	pthread_mutex_lock(&batches->lock);
	batch->is_converted = true;
	while (batches->unreleased && batches->unreleased->is_converted) {
		ring_release(batches->ring, batches->unreleased->end);
		batches->unreleased = batches->unreleased->next;
	}
	pthread_mutex_unlock(&batches->lock);
}

/* What is not ready, or not for the caller to write, will be written by another worker. */
static struct batch *next_to_write(struct batches *batches)
{
	if (batches->writing || !batches->first || !batches->first->is_packed)
		return NULL;
	batches->writing = true;
	return batches->first;
}

struct batch *batches_packed(struct batches *batches, struct batch *batch)
{
	struct batch *next;

	pthread_mutex_lock(&batches->lock);
	batch->is_packed = true;
	next = next_to_write(batches);
	pthread_mutex_unlock(&batches->lock);
	return next;
}

struct batch *batches_written(struct batches *batches, struct batch *batch)
{
	struct batch *next;

	pthread_mutex_lock(&batches->lock);
	batches->writing = false;
	batches->first = batch->next;
	if (!batches->first)
		batches->last = &batches->first;
	batch->next = batches->free;
	batches->free = batch;
	next = next_to_write(batches);
	if (next)
		call_worker(batches); /* perhaps one waits for a free batch; the caller itself has no need of it */
	pthread_mutex_unlock(&batches->lock);
	return next;
}

void batches_close(struct batches *batches)
{
	pthread_mutex_lock(&batches->lock);
	batches->closed = true;
	pthread_cond_broadcast(&batches->offered);
	pthread_cond_broadcast(&batches->closing);
	pthread_mutex_unlock(&batches->lock);
}

void batches_deinit(struct batches *batches)
{
	for (unsigned i = 0; i < batches->n_all; i++)
		artifact_packed_deinit(&batches->all[i].packed);
	free(batches->all);
	pthread_mutex_destroy(&batches->lock);
	pthread_cond_destroy(&batches->offered);
	pthread_cond_destroy(&batches->closing);
}
