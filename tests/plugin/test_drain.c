/* test_drain.c: what is added to a ring comes out of the artifact, whole and in order, whoever encodes it; with a ring
 * in memory that the test fills as the kernel does. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "artifact/reader.h"
#include "drain/batch.h"
#include "drain/drain.h"
#include "record.h"

#define TEST_RING_BYTES (2u << 20)
#define POLL_NS         1000000u

/* As the kernel has it, but for the data's second image, which is memory of its own here. */
struct kernel_side {
	int fd;
	size_t page;
	char *memory;
	uint64_t end;
};

static struct kernel_side make_ring(void)
{
	struct kernel_side side = {.fd = memfd_create("ring", MFD_CLOEXEC), .page = sysconf(_SC_PAGESIZE)};
	size_t n = 2 * side.page + 2 * TEST_RING_BYTES;

	cr_assert_eq(ftruncate(side.fd, n), 0);
	side.memory = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, side.fd, 0);
	cr_assert_neq(side.memory, MAP_FAILED);
	return side;
}

static uint64_t consumer(const struct kernel_side *side)
{
	return __atomic_load_n((uint64_t *)side->memory, __ATOMIC_ACQUIRE);
}

/* Where a position is, in the first image or in the second. */
static char *place(const struct kernel_side *side, uint64_t at, unsigned image)
{
	return side->memory + 2 * side->page + at % TEST_RING_BYTES + image * TEST_RING_BYTES;
}

/* The n bytes at `at`, in both images, as far as they have them. */
static void store(const struct kernel_side *side, uint64_t at, const void *bytes, size_t n)
{
	size_t before_end = TEST_RING_BYTES - at % TEST_RING_BYTES, n_first = n < before_end ? n : before_end;

	memcpy(place(side, at, 0), bytes, n);
	memcpy(place(side, at, 1), bytes, n_first);
	memcpy(place(side, at + n_first, 0), (const char *)bytes + n_first, n - n_first);
}

/* Makes a record visible that the workers must wait for. Its position. */
static uint64_t reserve(struct kernel_side *side, const void *record, uint32_t n)
{
	uint32_t header[2] = {n | BPF_RINGBUF_BUSY_BIT};
	uint64_t at = side->end, n_all = (sizeof(header) + n + 7) & ~7ull;
	const struct timespec pause = {.tv_nsec = 100000};

	while (at + n_all - consumer(side) > TEST_RING_BYTES)
		nanosleep(&pause, NULL);
	store(side, at, header, sizeof(header));
	store(side, at + sizeof(header), record, n);
	side->end = at + n_all;
	__atomic_store_n((uint64_t *)(side->memory + side->page), side->end, __ATOMIC_RELEASE);
	return at;
}

static void complete(const struct kernel_side *side, uint64_t at, uint32_t flags)
{
	for (unsigned image = 0; image < 2; image++) {
		uint32_t *header = (uint32_t *)place(side, at, image);

		__atomic_store_n(header, (*header & ~BPF_RINGBUF_BUSY_BIT) | flags, __ATOMIC_RELEASE);
	}
}

static uint64_t reserve_numbered(struct kernel_side *side, uint64_t number)
{
	struct record_map record = {
		.head = {.kind = RECORD_MMAP, .pid = 7, .tid = 8, .timestamp = number},
		.addr = number << 12,
		.size = 4096,
	};

	return reserve(side, &record, sizeof(record));
}

static void add_numbered(struct kernel_side *side, uint64_t number)
{
	complete(side, reserve_numbered(side, number), 0);
}

/* The consumer's side, from the ring to a file. */
struct rig {
	struct kernel_side side;
	struct ring *ring;
	struct converter converter;
	struct artifact_writer *writer;
	struct drain *drain;
	int artifact;
};

static void start(struct rig *rig, unsigned n_workers, int artifact)
{
	struct drain_settings settings = {.level = -1, .n_workers = n_workers, .poll_ns = POLL_NS};

	*rig = (struct rig){.side = make_ring(), .artifact = artifact};
	pthread_mutex_init(&rig->converter.lock, NULL);
	cr_assert_eq(ring_new(rig->side.fd, TEST_RING_BYTES, &rig->ring), 0);
	cr_assert_eq(artifact_writer_new(artifact, -1, &rig->writer), 0);
	cr_assert_eq(drain_start(&settings, rig->ring, &rig->converter, rig->writer, &rig->drain), 0);
}

static int finish(struct rig *rig)
{
	int r = drain_finish(rig->drain);

	if (!r)
		r = artifact_writer_finish(rig->writer);
	cr_assert_eq(ring_pending(rig->ring), 0);
	return r;
}

static void end(struct rig *rig)
{
	artifact_writer_free(rig->writer);
	ring_free(rig->ring);
	munmap(rig->side.memory, 2 * rig->side.page + 2 * TEST_RING_BYTES);
	close(rig->side.fd);
	if (rig->artifact >= 0)
		close(rig->artifact);
}

/* The file has the events numbered from 0 to n - 1, in order. */
static void check_events(int fd, uint64_t n)
{
	struct artifact_reader *reader;
	struct event event;
	uint64_t i = 0;
	int r;

	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	cr_assert_eq(artifact_reader_new(fd, &reader), 0);
	while ((r = artifact_reader_next(reader, &event)) == ARTIFACT_EVENT) {
		cr_assert_eq(event.timestamp, i, "%zu instead of %zu", (size_t)event.timestamp, (size_t)i);
		cr_assert_eq(event.addr, i << 12);
		i++;
	}
	cr_assert_eq(r, ARTIFACT_END, "%s", artifact_reader_reason(reader));
	cr_assert_eq(i, n);
	artifact_reader_free(reader);
}

/* Several times round the ring, with a producer that waits for the consumer. */
static void run_through(unsigned n_workers)
{
	const uint64_t n = 400000;
	struct rig rig;

	start(&rig, n_workers, memfd_create("artifact", MFD_CLOEXEC));
	for (uint64_t i = 0; i < n; i++)
		add_numbered(&rig.side, i);
	cr_assert_eq(finish(&rig), 0);
	cr_assert_eq(rig.converter.counts.n_events, n);
	check_events(rig.artifact, n);
	end(&rig);
}

Test(drain, one_worker)
{
	run_through(1);
}

/* As many as the machine has processors, some of which only work at the end. */
Test(drain, the_usual_workers)
{
	run_through(0);
}

Test(drain, workers_keep_the_order)
{
	run_through(2);
	run_through(7);
}

/* All that was there before the threads were. */
Test(drain, the_end_comes_at_once)
{
	struct rig rig;

	start(&rig, 3, memfd_create("artifact", MFD_CLOEXEC));
	cr_assert_eq(finish(&rig), 0);
	check_events(rig.artifact, 0);
	end(&rig);
}

/* What is not complete holds up what comes after it, also at the end. */
struct late {
	const struct kernel_side *side;
	uint64_t at;
};

static void *complete_later(void *argument)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	struct late *late = argument;

	nanosleep(&pause, NULL);
	complete(late->side, late->at, 0);
	return NULL;
}

Test(drain, waits_for_records_that_are_not_complete)
{
	const uint64_t n = 20000;
	pthread_t thread;
	struct late late;
	struct rig rig;

	start(&rig, 2, memfd_create("artifact", MFD_CLOEXEC));
	late = (struct late){&rig.side, reserve_numbered(&rig.side, 0)};
	for (uint64_t i = 1; i < n; i++)
		add_numbered(&rig.side, i);
	cr_assert_eq(consumer(&rig.side), 0);
	cr_assert_eq(pthread_create(&thread, NULL, complete_later, &late), 0);
	cr_assert_eq(finish(&rig), 0);
	pthread_join(thread, NULL);
	check_events(rig.artifact, n);
	end(&rig);
}

Test(drain, what_the_kernel_took_back_is_skipped)
{
	struct rig rig;

	start(&rig, 1, memfd_create("artifact", MFD_CLOEXEC));
	complete(&rig.side, reserve_numbered(&rig.side, 99), BPF_RINGBUF_DISCARD_BIT);
	add_numbered(&rig.side, 0);
	complete(&rig.side, reserve_numbered(&rig.side, 99), BPF_RINGBUF_DISCARD_BIT);
	cr_assert_eq(finish(&rig), 0);
	check_events(rig.artifact, 1);
	end(&rig);
}

/* However little there is: if this process dies, it is in the file. */
Test(drain, little_is_written_before_long)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	struct rig rig;

	start(&rig, 2, memfd_create("artifact", MFD_CLOEXEC));
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t before = artifact_writer_n_bytes(rig.writer);

		add_numbered(&rig.side, i);
		for (unsigned k = 0; artifact_writer_n_bytes(rig.writer) == before && k < 1000; k++)
			nanosleep(&pause, NULL);
		check_events(rig.artifact, i + 1);
	}
	cr_assert_eq(finish(&rig), 0);
	end(&rig);
}

/* The ring is emptied all the same, so that nobody waits, and every event is counted as lost. */
Test(drain, nowhere_to_write)
{
	const uint64_t n = 100000;
	struct rig rig;

	start(&rig, 2, -1);
	for (uint64_t i = 0; i < n; i++)
		add_numbered(&rig.side, i);
	cr_assert_eq(finish(&rig), -EBADF);
	cr_assert_eq(artifact_writer_n_lost(rig.writer), n);
	end(&rig);
}
