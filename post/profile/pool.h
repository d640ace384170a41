/* pool.h: independent jobs on several threads. */
#ifndef POST_PROFILE_POOL_H
#define POST_PROFILE_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct pool_work {
	size_t n_jobs;
	unsigned n_threads; /* at most; 0: one per CPU this process may use */
	/* Does job number `job`; on any thread, each job once. It may look at *stop now and then: true, give
	 * up. */
	void (*run)(void *context, size_t job, const atomic_bool *stop);
	/* Called on the calling thread, several times a second and at the end; non-zero: no more jobs. */
	int (*watch)(void *context, size_t n_done);
	void *context;
};

/* Returns when no job is running any more: 0, -EINTR where `watch` said so, or -ENOMEM. Signals are left to
 * the threads that were there before. */
int pool_run(const struct pool_work *work);

#endif
