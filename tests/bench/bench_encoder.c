/* bench_encoder.c: from a ring that was filled before to an artifact, by the instrument's own threads: events
 * a second, bytes, memory. Each case runs in a process of its own, in turns; the best of the rounds is taken.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/records.h"
#include "drain/batch.h"
#include "drain/drain.h"
#include "util/cleanup.h"

#define N_ROUNDS 7
#define LEVEL    (-1) /* of zstd, as the instrument has it */

struct figures {
	double wall; /* seconds */
	double cpu;  /* of all threads */
	uint64_t n_bytes;
	uint64_t rss; /* bytes at most, beyond the ring and what was there before */
};

struct subject {
	const char *name;
	struct records *records;
	unsigned n_workers; /* 0: the encoding alone, without the other threads */
	const char *bar;
	struct figures best;
};

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A line of /proc/self/status, in bytes. */
static uint64_t memory_line(const char *name)
{
	CLEANUP_FCLOSE FILE *file = fopen("/proc/self/status", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			return strtoull(line + strlen(name), NULL, 10) << 10;
	return 0;
}

static int encode(const struct subject *subject, struct figures *ret_figures)
{
	struct drain_settings settings = {
	        .level = LEVEL, .n_workers = subject->n_workers, .poll_ns = 1000000};
	uint64_t before = memory_line("VmRSS:");
	struct converter converter = {.lock = PTHREAD_MUTEX_INITIALIZER};
	int artifact = memfd_create("artifact", MFD_CLOEXEC), r;
	double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	struct artifact_writer *writer;
	struct drain *drain;
	struct ring *ring;

	r = artifact_writer_new(artifact, LEVEL, &writer);
	if (!r)
		r = ring_new(subject->records->fd, subject->records->size, &ring);
	if (!r)
		r = drain_start(&settings, ring, &converter, writer, &drain);
	if (!r)
		r = drain_finish(drain);
	if (!r)
		r = artifact_writer_finish(writer);
	if (!r && converter.counts.n_events != subject->records->n_events)
		r = -1;
	*ret_figures = (struct figures){seconds(CLOCK_MONOTONIC) - wall,
	        seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, r ? 0 : artifact_writer_n_bytes(writer),
	        memory_line("VmHWM:") - before - subject->records->n_bytes};
	return r;
}

/* What a worker does with its batches, and nothing beside it: in one thread, as far as it comes on one
 * processor. */
static int encode_alone(const struct subject *subject, struct figures *ret_figures)
{
	const char *data = subject->records->memory + 2 * sysconf(_SC_PAGESIZE);
	struct converter converter = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct figures figures = {0};
	struct artifact_frame *frame;
	double wall, cpu;

	if (artifact_frame_new(LEVEL, &frame))
		return -1;
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t at = 0, n; at < subject->records->n_bytes; at += n) {
		const uint8_t *compressed;
		size_t n_compressed;

		n = records_chunk(subject->records, at, BATCH_BYTES);
		converter_run(&converter, data + at, n, frame);
		if (artifact_frame_compress(frame, &compressed, &n_compressed))
			return -1;
		figures.n_bytes += n_compressed;
		artifact_frame_clear(frame);
	}
	figures.wall = seconds(CLOCK_MONOTONIC) - wall;
	figures.cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	artifact_frame_free(frame);
	*ret_figures = figures;
	return converter.counts.n_events == subject->records->n_events ? 0 : -1;
}

/* In a child, for the sake of its memory. */
static int measure(struct subject *subject)
{
	struct figures *shared =
	        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = -1;
	pid_t child;

	records_rewind(subject->records);
	child = fork();
	if (child == 0)
		_exit((subject->n_workers ? encode(subject, shared) : encode_alone(subject, shared)) != 0);
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
		fprintf(stderr, "%s: status %d\n", subject->name, status);
		return 1;
	}
	if (subject->best.wall == 0 || shared->wall < subject->best.wall)
		subject->best.wall = shared->wall;
	if (subject->best.cpu == 0 || shared->cpu < subject->best.cpu)
		subject->best.cpu = shared->cpu;
	if (shared->rss > subject->best.rss)
		subject->best.rss = shared->rss;
	subject->best.n_bytes = shared->n_bytes;
	munmap(shared, sizeof(*shared));
	return 0;
}

static void print_subject(const struct subject *subject, const struct subject *one)
{
	const struct records *records = subject->records;
	const struct figures *best = &subject->best;
	double n = (double)records->n_events;

	printf("%-22s %7u %9.2f %9.2f %8.0f %8.0f %9.2f %8.1f", subject->name, subject->n_workers,
	        n / best->wall / 1e6, n / best->cpu / 1e6, (double)records->n_bytes / best->wall / 1e6,
	        (double)best->n_bytes / best->wall / 1e6, (double)best->n_bytes / n,
	        (double)best->rss / (1 << 20));
	if (one)
		printf(" %6.2f", one->best.wall / best->wall);
	printf("  %s\n", subject->bar ? subject->bar : "");
}

int main(void)
{
	struct records few, many, heap, stacks;
	const struct subject *one = NULL;
	struct subject subjects[] = {
	        {"10 000 random", &few, 1, NULL, {0}},
	        {"100 000 random", &many, 1, NULL, {0}},
	        {"1 000 000 realistic", &heap, 0, "bar 6 M/cpu s", {0}},
	        {"1 000 000 realistic", &heap, 1, "bar 6 M events/s, 16 bytes", {0}},
	        {"1 000 000 realistic", &heap, 2, "bar speed-up 1.7", {0}},
	        {"1 000 000 realistic", &heap, 4, NULL, {0}},
	        {"1 000 000 realistic", &heap, 8, NULL, {0}},
	        {"1 000 000 realistic", &heap, 16, NULL, {0}},
	        {"16 384 definitions", &stacks, 1, NULL, {0}},
	        {"16 384 definitions", &stacks, 2, NULL, {0}},
	};

	if (records_init(&few, 1 << 20) || records_init(&many, 10 << 20) || records_init(&heap, 64 << 20) ||
	        records_init(&stacks, 64 << 20))
		return 1;
	records_add_random(&few, 10000);
	records_add_random(&many, 100000);
	records_add_realistic(&heap, 1000000);
	records_add_definitions(&stacks, 16384, 2048);
	for (unsigned round = 0; round < N_ROUNDS; round++)
		for (size_t i = 0; i < N_ELEMENTS(subjects); i++)
			if (measure(&subjects[i]) != 0)
				return 1;
	printf("best of %d rounds, %ld processors\n", N_ROUNDS, sysconf(_SC_NPROCESSORS_ONLN));
	printf("%-22s %7s %9s %9s %8s %8s %9s %8s %6s\n", "", "workers", "M ev/s", "M/cpu s", "MB/s in",
	        "MB/s out", "bytes/ev", "MiB more", "ratio");
	for (size_t i = 0; i < N_ELEMENTS(subjects); i++) {
		/* The last of the same records with one worker. */
		if (subjects[i].n_workers == 1)
			one = &subjects[i];
		print_subject(&subjects[i], subjects[i].n_workers > 1 ? one : NULL);
	}
	return 0;
}
