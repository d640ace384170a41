/* closing.c: see closing.h. */
#include "kernel/closing.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "profile/pool.h"
#include "util/grow.h"

/* Each thread only waits. So many links share a grace period. */
#define THREADS_MAX 32

struct closing {
	pthread_t thread;
	pthread_mutex_t lock; /* guards links_closed */
	pthread_cond_t changed;
	bool links_closed;
	struct descriptors links;
	struct descriptors events;
};

int descriptors_add(struct descriptors *descriptors, int fd)
{
	int r = GROW_BY_ONE(descriptors->fds, descriptors->n_allocated, descriptors->n);

	if (r < 0)
		close(fd);
	else
		descriptors->fds[descriptors->n++] = fd;
	return r;
}

static void forget(struct descriptors *descriptors)
{
	free(descriptors->fds);
	*descriptors = (struct descriptors){};
}

void descriptors_move(struct descriptors *descriptors, struct descriptors *from)
{
	for (size_t i = 0; i < from->n; i++)
		descriptors_add(descriptors, from->fds[i]);
	forget(from);
}

static void close_one(void *context, size_t job, const atomic_bool *stop)
{
	const struct descriptors *descriptors = context;

	(void)stop;
	close(descriptors->fds[job]);
}

static int go_on(void *context, size_t n_done)
{
	(void)context;
	(void)n_done;
	return 0;
}

void descriptors_close(struct descriptors *descriptors)
{
	struct pool_work work = {
		.n_jobs = descriptors->n,
		.n_threads = THREADS_MAX,
		.run = close_one,
		.watch = go_on,
		.context = descriptors,
	};

	if (descriptors->n < 2 || pool_run(&work))
		for (size_t i = 0; i < descriptors->n; i++)
			close(descriptors->fds[i]);
	forget(descriptors);
}

static void *run(void *argument)
{
	struct closing *closing = argument;

	prctl(PR_SET_NAME, "memstacks-close");
	descriptors_close(&closing->links);
	pthread_mutex_lock(&closing->lock);
	closing->links_closed = true;
	pthread_cond_signal(&closing->changed);
	pthread_mutex_unlock(&closing->lock);
	/* At a time they would take as long: the kernel has one lock for them. */
	for (size_t i = 0; i < closing->events.n; i++)
		close(closing->events.fds[i]);
	forget(&closing->events);
	return NULL;
}

struct closing *closing_start(struct descriptors *links, struct descriptors *events)
{
	struct closing *closing = links->n + events->n ? calloc(1, sizeof(*closing)) : NULL;

	if (closing) {
		pthread_mutex_init(&closing->lock, NULL);
		pthread_cond_init(&closing->changed, NULL);
		closing->links = *links;
		closing->events = *events;
		if (pthread_create(&closing->thread, NULL, run, closing) == 0) {
			*links = *events = (struct descriptors){};
			return closing;
		}
		pthread_cond_destroy(&closing->changed);
		pthread_mutex_destroy(&closing->lock);
		free(closing);
	}
	descriptors_close(links);
	descriptors_close(events);
	return NULL;
}

void closing_wait_for_links(struct closing *closing)
{
	if (!closing)
		return;
	pthread_mutex_lock(&closing->lock);
	while (!closing->links_closed)
		pthread_cond_wait(&closing->changed, &closing->lock);
	pthread_mutex_unlock(&closing->lock);
}

struct closing *closing_finish(struct closing *closing)
{
	if (!closing)
		return NULL;
	pthread_join(closing->thread, NULL);
	pthread_cond_destroy(&closing->changed);
	pthread_mutex_destroy(&closing->lock);
	free(closing);
	return NULL;
}
