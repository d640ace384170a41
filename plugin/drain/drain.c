/* drain.c: see drain.h.
 *
 * The ring's thread never waits for the encoding as long as batches are to be had; when none is, records wait in the
 * ring, whose producers slow down by themselves. It polls: at the rates that matter a wake-up per record costs the
 * benchmark more than a look every few milliseconds costs anybody. */
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

/* The ring's thread does little, and must not wait for a processor behind those it works for. */
#define TAKER_NICE (-10)

struct worker {
	pthread_t thread;
	pid_t tid; /* atomic; 0 until it runs */
	struct drain *drain;
	struct artifact_frame *frame;
};

struct drain {
	pthread_t taker;
	struct drain_settings settings;
	struct batches batches;
	struct worker *workers;
	unsigned n_workers;
	bool pressed;  /* the workers have priority */
	bool stopping; /* nothing is added to the ring any more; atomic */
	int error;     /* of the artifact; written by the worker whose turn it is */
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
			setpriority(PRIO_PROCESS, tid, pressed ? TAKER_NICE : 0); /* as well as it goes */
	}
}

/* Moves what is in the ring to batches. */
static void empty_ring(struct drain *drain, struct batch **batch, uint64_t *started)
{
	for (;;) {
		struct batch *current = *batch;
		size_t space = sizeof(current->data) - current->n_bytes;
		size_t n = ring_take(drain->ring, current->data + current->n_bytes, space);

		current->n_bytes += n;
		if (n)
			continue;
		/* Either nothing is complete, or the next record does not fit. */
		if (space >= sizeof(current->data) / 2 || !ring_pending(drain->ring))
			return;
		batches_fill(&drain->batches, current);
		*batch = batches_take_empty(&drain->batches);
		*started = now_ns();
	}
}

static void *take(void *argument)
{
	struct drain *drain = argument;
	struct batch *batch = batches_take_empty(&drain->batches);
	uint64_t started = now_ns(), flushed = started;

	prctl(PR_SET_NAME, "memstacks-drain");
	setpriority(PRIO_PROCESS, syscall(SYS_gettid), TAKER_NICE); /* as well as it goes */
	for (;;) {
		bool stopping = __atomic_load_n(&drain->stopping, __ATOMIC_ACQUIRE);
		struct timespec pause = {
			.tv_sec = drain->settings.poll_ns / 1000000000u,
			.tv_nsec = drain->settings.poll_ns % 1000000000u,
		};

		if (!stopping && now_ns() - flushed > FLUSH_NS) {
			drain->settings.flush(drain->settings.flush_context);
			flushed = now_ns();
		}
		set_priority(drain, ring_pending(drain->ring) > RING_BYTES / 4);
		empty_ring(drain, &batch, &started);
		if (stopping && !ring_pending(drain->ring))
			break;
		if (batch->n_bytes && now_ns() - started > MAX_AGE_NS) {
			batches_fill(&drain->batches, batch);
			batch = batches_take_empty(&drain->batches);
			started = now_ns();
		}
		if (stopping)
			pause = (struct timespec){.tv_nsec = 1000000}; /* a record is not complete yet */
		nanosleep(&pause, NULL);
	}
	if (batch->n_bytes) {
		batches_fill(&drain->batches, batch);
		batch = batches_take_empty(&drain->batches);
	}
	batches_close(&drain->batches, batch, drain->n_workers);
	return NULL;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct drain *drain = worker->drain;
	struct batch *batch;

	prctl(PR_SET_NAME, "memstacks-write");
	__atomic_store_n(&worker->tid, syscall(SYS_gettid), __ATOMIC_RELAXED);
	while ((batch = batches_take_full(&drain->batches))) {
		const uint8_t *data;
		size_t n;
		int r;

		converter_run(drain->converter, batch->data, batch->n_bytes, worker->frame);
		/* Here, where it goes on beside others; without memory for it the turn finds out again. */
		(void)artifact_frame_compress(worker->frame, &data, &n);
		batches_await_turn(&drain->batches, batch);
		r = artifact_writer_put(drain->writer, worker->frame);
		if (r && !drain->error) {
			drain->error = r;
			log_error(drain->settings.log, "cannot write the artifact, from here on events are lost: %s",
				strerror(-r));
		}
		batches_done(&drain->batches, batch);
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
	int r = -pthread_create(&drain->taker, NULL, take, drain);

	if (r)
		return r;
	for (unsigned i = 0; i < drain->n_workers; i++) {
		r = -pthread_create(&drain->workers[i].thread, NULL, work, &drain->workers[i]);
		if (r && i == 0) {
			__atomic_store_n(&drain->stopping, true, __ATOMIC_RELEASE);
			pthread_join(drain->taker, NULL);
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
	/* While the command runs, one processor is its own and one the ring's; afterwards all may work. */
	n_allowed = settings->n_workers ? settings->n_workers : n_cpus > 3 ? n_cpus - 2 : 1;
	drain->n_workers = settings->n_workers ? settings->n_workers : n_cpus;
	r = batches_init(&drain->batches, n_allowed);
	drain->workers = calloc(drain->n_workers, sizeof(*drain->workers));
	for (unsigned i = 0; drain->workers && i < drain->n_workers && !r; i++) {
		drain->workers[i].drain = drain;
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
	__atomic_store_n(&drain->stopping, true, __ATOMIC_RELEASE);
	pthread_join(drain->taker, NULL);
	for (unsigned i = 0; i < drain->n_workers; i++)
		pthread_join(drain->workers[i].thread, NULL);
	r = drain->error;
	drain_free(drain);
	return r;
}
