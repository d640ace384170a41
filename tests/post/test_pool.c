/* test_pool.c: jobs on threads. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "profile/pool.h"

#define N_JOBS 500

struct counts {
	atomic_uint n_runs[N_JOBS];
	atomic_uint n_wrong;
	pthread_t caller;
	size_t n_done;
	size_t stop_at;
	unsigned n_watched;
};

static void run(void *context, size_t job, const atomic_bool *stop)
{
	struct counts *counts = context;
	sigset_t mask;

	(void)stop;
	atomic_fetch_add(&counts->n_runs[job], 1);
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	if (!sigismember(&mask, SIGINT) || pthread_equal(pthread_self(), counts->caller))
		atomic_fetch_add(&counts->n_wrong, 1);
	if (counts->stop_at)
		usleep(1000);
}

static int watch(void *context, size_t n_done)
{
	struct counts *counts = context;

	cr_assert(pthread_equal(pthread_self(), counts->caller));
	cr_assert_geq(n_done, counts->n_done);
	counts->n_done = n_done;
	counts->n_watched++;
	return counts->stop_at && n_done >= counts->stop_at;
}

static int run_pool(struct counts *counts, size_t n_jobs, unsigned n_threads)
{
	struct pool_work work = {
	        .n_jobs = n_jobs, .n_threads = n_threads, .run = run, .watch = watch, .context = counts};

	counts->caller = pthread_self();
	return pool_run(&work);
}

/* Each job once, on other threads, which signals do not reach; the watcher on this one. */
Test(pool, each_job_once)
{
	for (unsigned n_threads = 0; n_threads < 9; n_threads++) {
		static struct counts counts;

		counts = (struct counts){0};
		cr_assert_eq(run_pool(&counts, N_JOBS, n_threads), 0);
		for (size_t i = 0; i < N_JOBS; i++)
			cr_assert_eq(atomic_load(&counts.n_runs[i]), 1);
		cr_assert_eq(atomic_load(&counts.n_wrong), 0);
		cr_assert_eq(counts.n_done, N_JOBS);
	}
}

Test(pool, stopped)
{
	static struct counts counts = {.stop_at = 10};
	size_t n_run = 0;

	cr_assert_eq(run_pool(&counts, N_JOBS, 3), -EINTR);
	for (size_t i = 0; i < N_JOBS; i++)
		n_run += atomic_load(&counts.n_runs[i]);
	cr_assert(n_run >= 10 && n_run < 100, "%zu", n_run);
}

Test(pool, nothing_to_do)
{
	static struct counts counts;

	cr_assert_eq(run_pool(&counts, 0, 4), 0);
}
