/* bench_encoder.c: from a ring that was filled before to an artifact, by the instrument's own threads: events
 * a second, bytes, memory. The records lie in memory, mapped, before the clock starts; threads and their
 * memory are made while it runs. Each case runs in a process of its own, in turns; the best of the rounds is
 * taken.
 *
 * What a second worker can bring at most is what the machine's second processor is worth at that hour. That
 * is measured beside it: the encoding alone, in two processes that share nothing, against one.
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

#define N_ROUNDS 9
#define LEVEL    (-1) /* of zstd, as the instrument has it */

#define N_PROCESSES_MAX 2

struct figures {
	double wall; /* seconds */
	double cpu;  /* of all threads */
	uint64_t n_bytes;
	uint64_t rss; /* bytes at most, beyond the ring and what was there before */
};

struct subject {
	const char *name;
	struct records *records;
	unsigned n_processes; /* beside each other, each with all records */
	unsigned n_workers;   /* 0: the encoding alone, without the other threads */
	bool one_by_one;      /* each record is taken, converted and given back by itself */
	const char *bar;
	struct figures best;
};

/* Between the processes. */
struct shared {
	pthread_barrier_t start;
	struct figures figures[N_PROCESSES_MAX];
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

/* The clocks' times and the memory when a case begins, or what has been added since. */
static struct figures measure_from(const struct figures *start)
{
	return (struct figures){
	        .wall = seconds(CLOCK_MONOTONIC) - (start ? start->wall : 0),
	        .cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - (start ? start->cpu : 0),
	        .rss = start ? memory_line("VmHWM:") - start->rss : memory_line("VmRSS:"),
	};
}

/* By the instrument's threads. */
static int encode(const struct subject *subject, struct shared *shared, struct figures *ret_figures)
{
	struct drain_settings settings = {
	        .level = LEVEL, .n_workers = subject->n_workers, .poll_ns = 1000000};
	struct converter converter = {.lock = PTHREAD_MUTEX_INITIALIZER};
	int artifact = memfd_create("artifact", MFD_CLOEXEC), r;
	struct artifact_writer *writer;
	struct figures start;
	struct drain *drain;
	struct ring *ring;
	const void *records;

	if (artifact_writer_new(artifact, LEVEL, &writer) ||
	        ring_new(subject->records->fd, subject->records->size, &ring))
		return -1;
	/* Unlike the kernel's ring, this one is mapped page by page, as it is read. */
	if (ring_range(ring, 0, SIZE_MAX, &records) != subject->records->n_bytes)
		return -1;
	pthread_barrier_wait(&shared->start);
	start = measure_from(NULL);
	r = drain_start(&settings, ring, &converter, writer, &drain);
	if (!r)
		r = drain_finish(drain);
	if (!r)
		r = artifact_writer_finish(writer);
	*ret_figures = measure_from(&start);
	ret_figures->n_bytes = artifact_writer_n_bytes(writer);
	return !r && converter.counts.n_events == subject->records->n_events ? 0 : -1;
}

/* What a worker does with its batches, and nothing beside it: in one thread, as far as it comes on one
 * processor. */
static int encode_alone(const struct subject *subject, struct shared *shared, struct figures *ret_figures)
{
	const char *data = subject->records->memory + 2 * sysconf(_SC_PAGESIZE);
	struct converter converter = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct artifact_packed packed = {0};
	struct artifact_frame *frame;
	struct figures start;
	uint64_t n_bytes = 0;

	if (artifact_frame_new(LEVEL, &frame) ||
	        records_chunk(subject->records, 0, SIZE_MAX) != subject->records->n_bytes)
		return -1;
	pthread_barrier_wait(&shared->start);
	start = measure_from(NULL);
	for (size_t at = 0, n; at < subject->records->n_bytes; at += n) {
		n = records_chunk(subject->records, at, BATCH_BYTES);
		converter_run(&converter, data + at, n, frame);
		if (artifact_frame_pack(frame, &packed))
			return -1;
		n_bytes += packed.n;
	}
	*ret_figures = measure_from(&start);
	ret_figures->n_bytes = n_bytes;
	artifact_packed_deinit(&packed);
	artifact_frame_free(frame);
	return converter.counts.n_events == subject->records->n_events ? 0 : -1;
}

/* The same, but as libbpf hands records on: each with calls of its own and a store to the shared position. */
static int encode_one_by_one(const struct subject *subject, struct shared *shared, struct figures *ret_figures)
{
	struct converter converter = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct artifact_packed packed = {0};
	uint64_t n_bytes = 0, at = 0;
	struct artifact_frame *frame;
	struct figures start;
	const void *records;
	struct ring *ring;
	uint32_t size;
	size_t n;

	if (artifact_frame_new(LEVEL, &frame) || ring_new(subject->records->fd, subject->records->size, &ring) ||
	        ring_range(ring, 0, SIZE_MAX, &records) != subject->records->n_bytes)
		return -1;
	pthread_barrier_wait(&shared->start);
	start = measure_from(NULL);
	while ((n = ring_range(ring, at, BATCH_BYTES, &records)) > 0) {
		for (size_t offset = 0, begin = 0; ring_record(records, n, &offset, &size); begin = offset) {
			converter_run(&converter, (const char *)records + begin, offset - begin, frame);
			ring_release(ring, at + offset);
		}
		at += n;
		if (artifact_frame_pack(frame, &packed))
			return -1;
		n_bytes += packed.n;
	}
	*ret_figures = measure_from(&start);
	ret_figures->n_bytes = n_bytes;
	artifact_packed_deinit(&packed);
	artifact_frame_free(frame);
	ring_free(ring);
	return converter.counts.n_events == subject->records->n_events ? 0 : -1;
}

static int run(const struct subject *subject, struct shared *shared, struct figures *ret_figures)
{
	if (subject->one_by_one)
		return encode_one_by_one(subject, shared, ret_figures);
	return (subject->n_workers ? encode : encode_alone)(subject, shared, ret_figures);
}

/* Of processes beside each other: until the last one is done, and all that they took. */
static void take_best(struct subject *subject, const struct shared *shared)
{
	struct figures *best = &subject->best, sum = {0};

	for (unsigned i = 0; i < subject->n_processes; i++) {
		const struct figures *one = &shared->figures[i];

		sum.wall = one->wall > sum.wall ? one->wall : sum.wall;
		sum.cpu += one->cpu;
		sum.rss += one->rss;
		sum.n_bytes += one->n_bytes;
	}
	if (best->wall == 0 || sum.wall < best->wall)
		best->wall = sum.wall;
	if (best->cpu == 0 || sum.cpu < best->cpu)
		best->cpu = sum.cpu;
	if (sum.rss > best->rss)
		best->rss = sum.rss;
	best->n_bytes = sum.n_bytes;
}

static struct shared *share(unsigned n_processes)
{
	struct shared *shared =
	        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attributes;

	if (shared == MAP_FAILED)
		return NULL;
	pthread_barrierattr_init(&attributes);
	pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->start, &attributes, n_processes);
	return shared;
}

/* In children, for the sake of their memory. */
static int measure(struct subject *subject)
{
	struct shared *shared = share(subject->n_processes);
	int n_failed = 0, status;

	if (!shared)
		return 1;
	records_rewind(subject->records);
	for (unsigned i = 0; i < subject->n_processes; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(run(subject, shared, &shared->figures[i]) != 0);
		if (child < 0)
			abort(); /* the others would wait for it for ever */
	}
	for (unsigned i = 0; i < subject->n_processes; i++)
		n_failed += wait(&status) < 0 || status != 0;
	if (n_failed)
		fprintf(stderr, "%s: not all events came through\n", subject->name);
	else
		take_best(subject, shared);
	munmap(shared, sizeof(*shared));
	return n_failed;
}

static double n_events(const struct subject *subject)
{
	return (double)subject->records->n_events * subject->n_processes;
}

/* How many times as fast as the other. */
static double ratio(const struct subject *subject, const struct subject *other)
{
	return n_events(subject) / subject->best.wall * other->best.wall / n_events(other);
}

static void print_head(void)
{
	printf("best of %d rounds, %ld processors; MiB: at most, beyond the records\n", N_ROUNDS,
	        sysconf(_SC_NPROCESSORS_ONLN));
	printf("%-26s %7s %8s %8s %7s %8s %7s %8s %8s %6s %6s\n", "", "workers", "wall ms", "CPU ms",
	        "M ev/s", "M/CPU s", "MB/s in", "MB/s out", "bytes/ev", "MiB", "ratio");
}

static void print_subject(const struct subject *subject, const struct subject *one)
{
	const struct figures *best = &subject->best;
	double n = n_events(subject), n_in = (double)subject->records->n_bytes * subject->n_processes;

	printf("%-26s ", subject->name);
	if (subject->n_workers)
		printf("%7u", subject->n_workers);
	else
		printf("%7s", "alone");
	printf(" %8.1f %8.1f %7.2f %8.2f %7.0f %8.0f %8.2f %6.1f", best->wall * 1e3, best->cpu * 1e3,
	        n / best->wall / 1e6, n / best->cpu / 1e6, n_in / best->wall / 1e6,
	        (double)best->n_bytes / best->wall / 1e6, (double)best->n_bytes / n,
	        (double)best->rss / (1 << 20));
	if (one != subject)
		printf(" %6.2f", ratio(subject, one));
	else
		printf(" %6s", "");
	printf("  %s\n", subject->bar ? subject->bar : "");
}

/* The first one with the same records, and with or without threads as this one, to compare it with. */
static const struct subject *first_like(const struct subject *subjects, const struct subject *subject)
{
	while (subjects->records != subject->records || !subjects->n_workers != !subject->n_workers)
		subjects++;
	return subjects;
}

int main(void)
{
	struct records few, many, heap, single, stacks;
	struct subject subjects[] = {
	        {"10 000 random", &few, 1, 1, false, NULL, {0}},
	        {"100 000 random", &many, 1, 1, false, NULL, {0}},
	        {"1 000 000 realistic", &heap, 1, 0, false, NULL, {0}},
	        {"two processes side by side", &heap, 2, 0, false, "what the machine gives", {0}},
	        {"1 000 000 realistic", &heap, 1, 1, false, "bar 6 M events/s, 16 bytes", {0}},
	        {"1 000 000 realistic", &heap, 1, 2, false, "bar ratio 1.7", {0}},
	        {"1 000 000 realistic", &heap, 1, 4, false, NULL, {0}},
	        {"1 000 000 realistic", &heap, 1, 8, false, NULL, {0}},
	        {"1 000 000 realistic", &heap, 1, 16, false, NULL, {0}},
	        {"a call in each record", &single, 1, 0, false, NULL, {0}},
	        {"the same, one by one", &single, 1, 0, true, NULL, {0}},
	        {"16 384 definitions", &stacks, 1, 1, false, NULL, {0}},
	        {"16 384 definitions", &stacks, 1, 2, false, NULL, {0}},
	};

	if (records_init(&few, 1 << 20) || records_init(&many, 10 << 20) || records_init(&heap, 64 << 20) ||
	        records_init(&single, 128 << 20) || records_init(&stacks, 64 << 20))
		return 1;
	records_add_random(&few, 10000);
	records_add_random(&many, 100000);
	records_add_realistic(&heap, 1000000, false);
	records_add_realistic(&single, 1000000, true);
	records_add_definitions(&stacks, 16384, 2048);
	for (unsigned round = 0; round < N_ROUNDS; round++)
		for (size_t i = 0; i < N_ELEMENTS(subjects); i++)
			if (measure(&subjects[i]) != 0)
				return 1;
	print_head();
	for (size_t i = 0; i < N_ELEMENTS(subjects); i++)
		print_subject(&subjects[i], first_like(subjects, &subjects[i]));
	return 0;
}
