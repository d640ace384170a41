/* batch.c: one lock, taken a few times per batch, not per record.
 *
 * Records are not copied out of the ring: that took a fifth of the time that encoding them takes, most of it on the
 * processor that a second worker could have used. Their space is free again as soon as they are converted, before
 * they are compressed or written. */
#include "drain/batch.h"

#include <time.h>

#include "record.h"

_Static_assert(BATCH_BYTES / 2 > sizeof(struct record_stack) + STACK_BUDGET_MAX + FP_CHAIN_MAX * sizeof(uint64_t),
	"a batch is more than half full, whatever the next record is");

void batches_init(struct batches *batches, struct ring *ring, unsigned n_allowed)
{
	pthread_condattr_t monotonic;

	*batches = (struct batches){.ring = ring, .n_allowed = n_allowed, .taken = ring_first(ring)};
	batches->last = &batches->first;
	pthread_mutex_init(&batches->lock, NULL);
	pthread_cond_init(&batches->offered, NULL);
	pthread_cond_init(&batches->written, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&batches->closing, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

/* Bytes that nobody has taken. */
static uint64_t n_waiting(const struct batches *batches)
{
	return ring_end(batches->ring) - batches->taken;
}

/* Whether a worker should look for a batch: there may still be none, where a record is not complete. */
static bool worthwhile(const struct batches *batches)
{
	return n_waiting(batches) >= (batches->due || batches->closed ? 1 : BATCH_BYTES);
}

/* One calls the next, as long as there is something to do. */
static void call_worker(struct batches *batches)
{
	if (batches->n_working < batches->n_allowed && worthwhile(batches))
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

static bool try_to_take(struct batches *batches, struct batch *batch)
{
	size_t least = batches->due || batches->closed ? 1 : BATCH_BYTES / 2;

	if (batches->n_working >= batches->n_allowed || !worthwhile(batches))
		return false;
	/* This also brings the records into the cache of the one who will read them. */
	batch->n_bytes = ring_range(batches->ring, batches->taken, BATCH_BYTES, &batch->records);
	if (batch->n_bytes < least)
		return false;
	batches->taken += batch->n_bytes;
	batches->due = false;
	batches->n_working++;
	batch->end = batches->taken;
	batch->number = batches->n_taken++;
	batch->converted = false;
	batch->next = NULL;
	*batches->last = batch;
	batches->last = &batch->next;
	return true;
}

/* After the end only records that are not complete yet can be waited for, and nobody says when they are. */
static void wait_for_more(struct batches *batches)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (!batches->closed) {
		pthread_cond_wait(&batches->offered, &batches->lock);
		return;
	}
	pthread_mutex_unlock(&batches->lock);
	nanosleep(&pause, NULL);
	pthread_mutex_lock(&batches->lock);
}

bool batches_take(struct batches *batches, struct batch *batch)
{
	bool taken;

	pthread_mutex_lock(&batches->lock);
	while (!(taken = try_to_take(batches, batch)) && !(batches->closed && n_waiting(batches) == 0))
		wait_for_more(batches);
	if (taken)
		call_worker(batches);
	pthread_mutex_unlock(&batches->lock);
	return taken;
}

void batches_release(struct batches *batches, struct batch *batch)
{
	pthread_mutex_lock(&batches->lock);
	batch->converted = true;
	while (batches->first && batches->first->converted) {
		ring_release(batches->ring, batches->first->end);
		batches->first = batches->first->next;
	}
	if (!batches->first)
		batches->last = &batches->first;
	pthread_mutex_unlock(&batches->lock);
}

void batches_await_turn(struct batches *batches, const struct batch *batch)
{
	pthread_mutex_lock(&batches->lock);
	while (batches->n_written != batch->number)
		pthread_cond_wait(&batches->written, &batches->lock);
	pthread_mutex_unlock(&batches->lock);
}

void batches_done(struct batches *batches)
{
	pthread_mutex_lock(&batches->lock);
	batches->n_written++;
	batches->n_working--;
	pthread_cond_broadcast(&batches->written);
	pthread_mutex_unlock(&batches->lock);
}

void batches_close(struct batches *batches, unsigned n_allowed)
{
	pthread_mutex_lock(&batches->lock);
	batches->closed = true;
	batches->n_allowed = n_allowed;
	pthread_cond_broadcast(&batches->offered);
	pthread_cond_broadcast(&batches->closing);
	pthread_mutex_unlock(&batches->lock);
}

void batches_deinit(struct batches *batches)
{
	pthread_mutex_destroy(&batches->lock);
	pthread_cond_destroy(&batches->offered);
	pthread_cond_destroy(&batches->written);
	pthread_cond_destroy(&batches->closing);
}
