/* batch.c: one lock, taken a few times per batch, not per record. */
#include "drain/batch.h"

#include <errno.h>
#include <stdlib.h>

int batches_init(struct batches *batches, unsigned n_allowed)
{
	pthread_mutex_init(&batches->lock, NULL);
	pthread_cond_init(&batches->filled, NULL);
	pthread_cond_init(&batches->freed, NULL);
	pthread_cond_init(&batches->written, NULL);
	batches->last = &batches->first;
	batches->n_allowed = n_allowed;
	/* There must be some, whatever becomes of the memory. */
	for (int i = 0; i < 2; i++) {
		struct batch *batch = malloc(sizeof(*batch));

		if (!batch)
			return -ENOMEM;
		batch->next = batches->empty;
		batches->empty = batch;
		batches->n_batches++;
	}
	return 0;
}

struct batch *batches_take_empty(struct batches *batches)
{
	struct batch *batch;

	pthread_mutex_lock(&batches->lock);
	for (;;) {
		batch = batches->empty;
		if (batch) {
			batches->empty = batch->next;
			break;
		}
		if (batches->n_batches < MAX_BATCHES && (batch = malloc(sizeof(*batch)))) {
			batches->n_batches++;
			break;
		}
		pthread_cond_wait(&batches->freed, &batches->lock);
	}
	pthread_mutex_unlock(&batches->lock);
	batch->n_bytes = 0;
	return batch;
}

void batches_fill(struct batches *batches, struct batch *batch)
{
	pthread_mutex_lock(&batches->lock);
	batch->number = batches->n_filled++;
	batch->next = NULL;
	*batches->last = batch;
	batches->last = &batch->next;
	pthread_cond_signal(&batches->filled);
	pthread_mutex_unlock(&batches->lock);
}

struct batch *batches_take_full(struct batches *batches)
{
	struct batch *batch;

	pthread_mutex_lock(&batches->lock);
	while ((!batches->first && !batches->closed) || (batches->first && batches->n_working >= batches->n_allowed))
		pthread_cond_wait(&batches->filled, &batches->lock);
	batch = batches->first;
	if (batch) {
		batches->first = batch->next;
		if (!batches->first)
			batches->last = &batches->first;
		batches->n_working++;
	}
	pthread_mutex_unlock(&batches->lock);
	return batch;
}

void batches_await_turn(struct batches *batches, const struct batch *batch)
{
	pthread_mutex_lock(&batches->lock);
	while (batches->n_written != batch->number)
		pthread_cond_wait(&batches->written, &batches->lock);
	pthread_mutex_unlock(&batches->lock);
}

void batches_done(struct batches *batches, struct batch *batch)
{
	pthread_mutex_lock(&batches->lock);
	batches->n_written++;
	batches->n_working--;
	batch->next = batches->empty;
	batches->empty = batch;
	pthread_cond_broadcast(&batches->written);
	pthread_cond_signal(&batches->freed);
	pthread_cond_broadcast(&batches->filled);
	pthread_mutex_unlock(&batches->lock);
}

void batches_close(struct batches *batches, struct batch *unused, unsigned n_allowed)
{
	pthread_mutex_lock(&batches->lock);
	unused->next = batches->empty;
	batches->empty = unused;
	batches->closed = true;
	batches->n_allowed = n_allowed;
	pthread_cond_broadcast(&batches->filled);
	pthread_mutex_unlock(&batches->lock);
}

void batches_deinit(struct batches *batches)
{
	struct batch *batch;

	while ((batch = batches->empty)) {
		batches->empty = batch->next;
		free(batch);
	}
	pthread_mutex_destroy(&batches->lock);
	pthread_cond_destroy(&batches->filled);
	pthread_cond_destroy(&batches->freed);
	pthread_cond_destroy(&batches->written);
}
