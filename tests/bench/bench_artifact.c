/* bench_artifact.c [EVENTS [DISORDER]]: events a second through the artifact and the replay, on one core.
 * DISORDER: by how many ns timestamps are late at most. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "artifact/encode.h"
#include "artifact/reader.h"
#include "artifact/writer.h"
#include "heap/replay.h"

#define N_SLOTS  100000
#define N_HASHES 5000

static struct event *events;
static size_t n_events;

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_artifact: %s failed\n", what);
	exit(1);
}

static uint64_t random_number(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* A heap of up to N_SLOTS blocks that come and go, allocated from N_HASHES call paths by four threads. */
static void make_events(uint64_t disorder)
{
	static uint64_t live[N_SLOTS], hashes[N_HASHES];
	uint64_t now = 1000000000000;

	for (size_t i = 0; i < N_HASHES; i++)
		hashes[i] = random_number();
	for (size_t i = 0; i < n_events; i++) {
		struct event *event = &events[i];
		size_t slot = random_number() % N_SLOTS;

		now += 300 + random_number() % 900;
		*event = (struct event){
		        .pid = 12345, .tid = 12345 + (uint32_t)(random_number() % 4), .timestamp = now};
		if (disorder)
			event->timestamp -= random_number() % disorder;
		if (live[slot]) {
			event->type = EVENT_FREE;
			event->addr = live[slot];
			live[slot] = 0;
			continue;
		}
		event->type = EVENT_MALLOC;
		event->size = 16 + random_number() % 400;
		event->stack_hash = hashes[random_number() % N_HASHES];
		event->addr = live[slot] = 0x555555560000 + 16 * (random_number() % 4000000);
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void print_rate(const char *what, double start)
{
	printf("%-24s %6.2f million events/s\n", what, (double)n_events / (seconds() - start) / 1e6);
}

static void bench_encode(void)
{
	msgpack_sbuffer buffer;
	double start = seconds();

	msgpack_sbuffer_init(&buffer);
	for (size_t i = 0; i < n_events; i++) {
		check(event_encode(&buffer, &events[i]) == 0, "encoding");
		if (buffer.size > 1 << 20)
			msgpack_sbuffer_clear(&buffer);
	}
	print_rate("encode", start);
	msgpack_sbuffer_destroy(&buffer);
}

static void bench_write(int fd)
{
	struct artifact_writer *writer;
	double start = seconds();

	check(artifact_writer_new(fd, -1, &writer) == 0, "the writer");
	for (size_t i = 0; i < n_events; i++)
		check(artifact_writer_add(writer, &events[i]) == 0, "writing");
	check(artifact_writer_finish(writer) == 0, "writing");
	print_rate("encode, compress, write", start);
	printf("%-24s %6.2f\n", "bytes an event", (double)artifact_writer_n_bytes(writer) / (double)n_events);
	artifact_writer_free(writer);
}

static void bench_read(int fd)
{
	struct artifact_reader *reader;
	struct event event;
	size_t n = 0;
	double start = seconds();

	check(lseek(fd, 0, SEEK_SET) == 0 && artifact_reader_new(fd, &reader) == 0, "the reader");
	while (artifact_reader_next(reader, &event) == ARTIFACT_EVENT)
		n++;
	print_rate("read", start);
	check(n == n_events, "reading");
	artifact_reader_free(reader);
}

static void bench_replay(void)
{
	struct heap_order *order;
	struct heap_replay *replay;
	struct heap_row row;
	double start = seconds();

	check(heap_order_new(&order) == 0 && heap_replay_new(&replay) == 0, "the replay");
	for (size_t i = 0; i < n_events; i++)
		check(heap_order_measure(order, &events[i]) == 0, "measuring");
	print_rate("order, first pass", start);
	heap_order_begin(order);
	start = seconds();
	for (size_t i = 0; i <= n_events; i++) {
		if (i < n_events)
			check(heap_order_add(order, &events[i]) == 0, "ordering");
		else
			heap_order_end(order);
		while (heap_order_next(order, &row))
			check(heap_replay_apply(replay, &row) == 0, "the replay");
	}
	print_rate("order, replay", start);
	printf("%-24s %6zu rows at most\n", "held back", (size_t)heap_order_n_held_max(order));
	heap_replay_free(replay);
	heap_order_free(order);
}

int main(int argc, char **argv)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);

	n_events = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000000;
	events = calloc(n_events, sizeof(events[0]));
	check(events && fd >= 0, "getting memory");
	make_events(argc > 2 ? strtoul(argv[2], NULL, 10) : 0);
	bench_encode();
	bench_write(fd);
	bench_read(fd);
	bench_replay();
	free(events);
	close(fd);
	return 0;
}
