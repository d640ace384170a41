/* pool.c: independent jobs on several threads. */
#include "profile/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define WATCH_NS 100000000 /* a tenth of a second between two looks at the progress */

struct pool {
	const struct pool_work *work;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	size_t n_taken;
	size_t n_done;
	unsigned n_running; /* threads */
	atomic_bool stop;
};

static bool take_job(struct pool *pool, size_t *ret_job)
{
	bool is_one;

	pthread_mutex_lock(&pool->lock);
	is_one = !atomic_load(&pool->stop) && pool->n_taken < pool->work->n_jobs;
	if (is_one)
		*ret_job = pool->n_taken++;
	pthread_mutex_unlock(&pool->lock);
	return is_one;
}

static void *run_jobs(void *context)
{
	struct pool *pool = context;
	size_t job;

	while (take_job(pool, &job)) {
		pool->work->run(pool->work->context, job, &pool->stop);
		pthread_mutex_lock(&pool->lock);
		pool->n_done++;
		pthread_cond_signal(&pool->changed);
		pthread_mutex_unlock(&pool->lock);
	}
	pthread_mutex_lock(&pool->lock);
	pool->n_running--;
	pthread_cond_signal(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static unsigned n_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

static unsigned start_threads(struct pool *pool, pthread_t *threads, unsigned n_threads)
{
	sigset_t all, before;
	unsigned n = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&pool->lock);
	while (n < n_threads && pthread_create(&threads[n], NULL, run_jobs, pool) == 0)
		n++;
	pool->n_running = n;
	pthread_mutex_unlock(&pool->lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}

static void watch(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (pool->n_running > 0) {
		struct timespec until;
		size_t n_done;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += WATCH_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&pool->changed, &pool->lock, &until);
		n_done = pool->n_done;
		pthread_mutex_unlock(&pool->lock);
		if (pool->work->watch(pool->work->context, n_done))
			atomic_store(&pool->stop, true);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
}

/* Without threads: on this one. */
static void run_here(struct pool *pool)
{
	size_t job;

	while (take_job(pool, &job)) {
		pool->work->run(pool->work->context, job, &pool->stop);
		if (pool->work->watch(pool->work->context, ++pool->n_done))
			atomic_store(&pool->stop, true);
	}
}

int pool_run(const struct pool_work *work)
{
	struct pool pool = {.work = work, .lock = PTHREAD_MUTEX_INITIALIZER};
	unsigned n_threads = work->n_threads ? work->n_threads : n_cpus(), n_started;
	pthread_condattr_t attributes;
	pthread_t *threads;

	if (n_threads > work->n_jobs)
		n_threads = (unsigned)work->n_jobs;
	threads = calloc(n_threads ? n_threads : 1, sizeof(threads[0]));
	if (!threads)
		return -ENOMEM;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&pool.changed, &attributes);
	pthread_condattr_destroy(&attributes);
	n_started = start_threads(&pool, threads, n_threads);
	if (n_started > 0)
		watch(&pool);
	else
		run_here(&pool);
	for (unsigned i = 0; i < n_started; i++)
		pthread_join(threads[i], NULL);
	if (work->watch(work->context, pool.n_done)) /* the last jobs may have ended unseen */
		atomic_store(&pool.stop, true);
	pthread_cond_destroy(&pool.changed);
	pthread_mutex_destroy(&pool.lock);
	free(threads);
	return atomic_load(&pool.stop) ? -EINTR : 0;
}
