/* drain.c: see drain.h.
 *
 * One thread looks at the ring every few milliseconds and calls the workers, who read it: at the rates that matter a
 * wake-up per record costs the benchmark more than a look costs anybody. Records wait in the ring until they are
 * converted; when it fills, its producers slow down by themselves. */
#include "drain/drain.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drain/batch.h"
#include "util/cleanup.h"

/* Whatever happens to this process, only what came in this time is not in the file. */
#define MAX_AGE_NS 500000000ull

/* How long calls may be kept where few are made. */
#define FLUSH_NS 200000000ull

/* The watching thread does little, and must not wait for a processor behind those it works for. */
#define WATCHER_NICE (-10)

struct worker {
	pthread_t thread;
	pid_t tid;  /* atomic; 0 until it runs */
	bool spare; /* works only when the command has ended */
	struct drain *drain;
	struct artifact_frame *frame;
};

struct drain {
	pthread_t watcher;
	struct drain_settings settings;
	struct batches batches;
	struct worker *workers;
	unsigned n_workers;
	bool pressed; /* the workers have priority */
	int error;    /* of the artifact; set by the worker that writes */
	struct ring *ring;
	struct converter *converter;
	struct artifact_writer *writer;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + now.tv_nsec;
}

static unsigned n_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

/* Under pressure the workers come before the benchmark, whose threads would only wait; otherwise not. */
static void set_priority(struct drain *drain, bool pressed)
{
	if (pressed == drain->pressed)
		return;
	drain->pressed = pressed;
	for (unsigned i = 0; i < drain->n_workers; i++) {
		pid_t tid = __atomic_load_n(&drain->workers[i].tid, __ATOMIC_RELAXED);

		if (tid)
			setpriority(PRIO_PROCESS, tid, pressed ? WATCHER_NICE : 0); /* as well as it goes */
	}
}

static void flush(const struct drain *drain, uint64_t now, uint64_t *flushed)
{
	if (!drain->settings.flush || now - *flushed <= FLUSH_NS)
		return;
	drain->settings.flush(drain->settings.flush_context);
	*flushed = now;
}

static void *watch(void *argument)
{
	struct drain *drain = argument;
	uint64_t flushed = now_ns();

	prctl(PR_SET_NAME, "memstacks-drain");
	setpriority(PRIO_PROCESS, syscall(SYS_gettid), WATCHER_NICE); /* as well as it goes */
	do {
		uint64_t now = now_ns();

		flush(drain, now, &flushed);
		set_priority(drain, ring_pending(drain->ring) > RING_BYTES / 4);
		batches_offer(&drain->batches, now, MAX_AGE_NS);
	} while (!batches_await_close(&drain->batches, drain->settings.poll_ns));
	return NULL;
}

/* One worker at a time, in the order of the ring. */
static void write_batch(struct drain *drain, const struct batch *batch)
{
	int r = artifact_writer_put(drain->writer, &batch->packed);

	if (!r || drain->error)
		return;
	drain->error = r;
	log_error(drain->settings.log, "cannot write the artifact, from here on events are lost: %s", strerror(-r));
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct drain *drain = worker->drain;
	struct batch *batch;

	prctl(PR_SET_NAME, "memstacks-write");
	__atomic_store_n(&worker->tid, syscall(SYS_gettid), __ATOMIC_RELAXED);
	while ((batch = batches_take(&drain->batches, worker->spare))) {
		converter_run(drain->converter, batch->records, batch->n_bytes, worker->frame);
		batches_release(&drain->batches, batch);
		(void)artifact_frame_pack(worker->frame, &batch->packed); /* without memory, writing it fails */
		batch = batches_packed(&drain->batches, batch);
		while (batch) {
			write_batch(drain, batch);
			batch = batches_written(&drain->batches, batch);
		}
	}
	return NULL;
}

static void drain_free(struct drain *drain)
{
	for (unsigned i = 0; i < drain->n_workers; i++)
		artifact_frame_free(drain->workers[i].frame);
	free(drain->workers);
	batches_deinit(&drain->batches);
	free(drain);
}

static int start_threads(struct drain *drain)
{
	int r = -pthread_create(&drain->watcher, NULL, watch, drain);

	if (r)
		return r;
	for (unsigned i = 0; i < drain->n_workers; i++) {
		r = -pthread_create(&drain->workers[i].thread, NULL, work, &drain->workers[i]);
		if (r && i == 0) {
			batches_close(&drain->batches);
			pthread_join(drain->watcher, NULL);
			return r;
		}
		if (r) {
			/* Fewer do as well. The frames of those that are not there are not needed. */
			for (unsigned k = i; k < drain->n_workers; k++)
				artifact_frame_free(drain->workers[k].frame);
			drain->n_workers = i;
		}
	}
	return 0;
}

int drain_start(const struct drain_settings *settings, struct ring *ring, struct converter *converter,
	struct artifact_writer *writer, struct drain **ret_drain)
{
	struct drain *drain = calloc(1, sizeof(*drain));
	unsigned n_cpus = n_processors(), n_allowed;
	int r = 0;

	if (!drain)
		return -ENOMEM;
	drain->settings = *settings;
	drain->ring = ring;
	drain->converter = converter;
	drain->writer = writer;
	/* While the command runs, one processor is its own; afterwards all may work. */
	n_allowed = settings->n_workers ? settings->n_workers : n_cpus > 2 ? n_cpus - 1 : 1;
	drain->n_workers = settings->n_workers ? settings->n_workers : n_cpus;
	r = batches_init(&drain->batches, ring, drain->n_workers);
	drain->workers = calloc(drain->n_workers, sizeof(*drain->workers));
	for (unsigned i = 0; drain->workers && i < drain->n_workers && !r; i++) {
		drain->workers[i].drain = drain;
		drain->workers[i].spare = i >= n_allowed;
		r = artifact_frame_new(settings->level, &drain->workers[i].frame);
	}
	if (!drain->workers)
		r = -ENOMEM;
	if (!r)
		r = start_threads(drain);
	if (r) {
		if (!drain->workers)
			drain->n_workers = 0;
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
	batches_close(&drain->batches);
	pthread_join(drain->watcher, NULL);
	for (unsigned i = 0; i < drain->n_workers; i++)
		pthread_join(drain->workers[i].thread, NULL);
	r = drain->error;
	drain_free(drain);
	return r;
}
