/* drain.c: batches go from the ring's thread to the encoder's and come back empty.
 *
 * The ring's thread never waits for the encoder: when all batches are under way it takes a new one, up to a bound,
 * and only then leaves the records in the ring. It polls: at the rates that matter a wake-up per record costs the
 * benchmark more than a look every few milliseconds costs anybody. */
#include "drain/drain.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "util/cleanup.h"

#define BATCH_BYTES   (1u << 20)
#define MAX_BATCHES   256u
#define POLL_NS       4000000
#define FLUSH_SECONDS 1

struct batch {
	struct batch *next;
	size_t n_bytes;
	_Alignas(8) char data[BATCH_BYTES];
};

struct queue {
	struct batch *first, **last;
};

struct drain {
	pthread_t taker, encoder;
	pthread_mutex_t lock;
	pthread_cond_t filled, freed;
	struct queue full;
	struct batch *empty;
	unsigned n_batches;
	bool stopping;   /* nothing is added to the ring any more */
	bool taker_done; /* nothing is added to `full` any more */
	int error;
	struct ring *ring;
	struct converter *converter;
};

static void queue_push(struct queue *queue, struct batch *batch)
{
	batch->next = NULL;
	*queue->last = batch;
	queue->last = &batch->next;
}

static struct batch *queue_pop(struct queue *queue)
{
	struct batch *batch = queue->first;

	if (!batch)
		return NULL;
	queue->first = batch->next;
	if (!queue->first)
		queue->last = &queue->first;
	return batch;
}

static struct batch *take_empty(struct drain *drain)
{
	struct batch *batch;

	pthread_mutex_lock(&drain->lock);
	for (;;) {
		batch = drain->empty;
		if (batch) {
			drain->empty = batch->next;
			break;
		}
		if (drain->n_batches < MAX_BATCHES && (batch = malloc(sizeof(*batch)))) {
			drain->n_batches++;
			break;
		}
		pthread_cond_wait(&drain->freed, &drain->lock);
	}
	pthread_mutex_unlock(&drain->lock);
	return batch;
}

static bool is_stopping(struct drain *drain)
{
	bool stopping;

	pthread_mutex_lock(&drain->lock);
	stopping = drain->stopping;
	pthread_mutex_unlock(&drain->lock);
	return stopping;
}

static void hand_over(struct drain *drain, struct batch *batch)
{
	pthread_mutex_lock(&drain->lock);
	queue_push(&drain->full, batch);
	pthread_cond_signal(&drain->filled);
	pthread_mutex_unlock(&drain->lock);
}

static void *take(void *argument)
{
	struct drain *drain = argument;
	struct batch *batch = take_empty(drain);

	prctl(PR_SET_NAME, "memstacks-drain");
	for (;;) {
		bool stopping = is_stopping(drain);
		struct timespec pause = {.tv_nsec = POLL_NS};

		batch->n_bytes = ring_take(drain->ring, batch->data, sizeof(batch->data));
		if (batch->n_bytes) {
			hand_over(drain, batch);
			batch = take_empty(drain);
			if (ring_pending(drain->ring) >= BATCH_BYTES / 4)
				continue;
		} else if (stopping) {
			break;
		}
		if (!stopping)
			nanosleep(&pause, NULL);
	}
	pthread_mutex_lock(&drain->lock);
	batch->next = drain->empty;
	drain->empty = batch;
	drain->taker_done = true;
	pthread_cond_signal(&drain->filled);
	pthread_mutex_unlock(&drain->lock);
	return NULL;
}

/* The next batch; NULL when there will be none (*ret_done) or none came for a while. */
static struct batch *next_full(struct drain *drain, bool *ret_done)
{
	struct timespec until;
	struct batch *batch;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += FLUSH_SECONDS;
	pthread_mutex_lock(&drain->lock);
	while (!(batch = queue_pop(&drain->full)) && !drain->taker_done && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&drain->filled, &drain->lock, &until);
	*ret_done = !batch && drain->taker_done;
	pthread_mutex_unlock(&drain->lock);
	return batch;
}

static void keep_error(struct drain *drain, int r)
{
	if (r && !drain->error)
		drain->error = r;
}

static void encode_batch(struct drain *drain, const struct batch *batch)
{
	const void *record;
	uint32_t size;
	size_t at = 0;

	while ((record = ring_record(batch->data, batch->n_bytes, &at, &size)))
		keep_error(drain, converter_add(drain->converter, record, size));
}

static void *encode(void *argument)
{
	struct drain *drain = argument;
	time_t flushed = 0;
	bool done = false;

	prctl(PR_SET_NAME, "memstacks-write");
	while (!done) {
		struct batch *batch = next_full(drain, &done);
		struct timespec now;

		if (batch) {
			encode_batch(drain, batch);
			pthread_mutex_lock(&drain->lock);
			batch->next = drain->empty;
			drain->empty = batch;
			pthread_cond_signal(&drain->freed);
			pthread_mutex_unlock(&drain->lock);
		}
		/* Whatever happens to this process, only the last second is not in the file. */
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > flushed + FLUSH_SECONDS) {
			keep_error(drain, artifact_writer_flush(drain->converter->writer));
			flushed = now.tv_sec;
		}
	}
	return NULL;
}

static void drain_free(struct drain *drain)
{
	struct batch *batch;

	while ((batch = drain->empty)) {
		drain->empty = batch->next;
		free(batch);
	}
	pthread_mutex_destroy(&drain->lock);
	pthread_cond_destroy(&drain->filled);
	pthread_cond_destroy(&drain->freed);
	free(drain);
}

static void stop_taker(struct drain *drain)
{
	pthread_mutex_lock(&drain->lock);
	drain->stopping = true;
	pthread_mutex_unlock(&drain->lock);
	pthread_join(drain->taker, NULL);
}

int drain_start(struct ring *ring, struct converter *converter, struct drain **ret_drain)
{
	struct drain *drain = calloc(1, sizeof(*drain));
	pthread_condattr_t monotonic;
	int r;

	if (!drain)
		return -ENOMEM;
	drain->ring = ring;
	drain->converter = converter;
	drain->full.last = &drain->full.first;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&drain->lock, NULL);
	pthread_cond_init(&drain->filled, &monotonic);
	pthread_cond_init(&drain->freed, NULL);
	pthread_condattr_destroy(&monotonic);
	r = -pthread_create(&drain->taker, NULL, take, drain);
	if (r) {
		drain_free(drain);
		return r;
	}
	r = -pthread_create(&drain->encoder, NULL, encode, drain);
	if (r) {
		stop_taker(drain);
		drain_free(drain);
		return r;
	}
	*ret_drain = drain;
	return 0;
}

int drain_finish(struct drain *drain)
{
	int r;

	if (!drain)
		return 0;
	stop_taker(drain);
	pthread_join(drain->encoder, NULL);
	r = drain->error;
	drain_free(drain);
	return r;
}
