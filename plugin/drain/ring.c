/* ring.c: layout as of Documentation/bpf/ringbuf.rst: a consumer page, a producer page, the data twice in a row. */
#include "drain/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/cleanup.h"

#define LENGTH_MASK (~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT))

struct ring {
	size_t size;
	size_t page;
	unsigned long *consumer;
	const unsigned long *producer;
	const char *data;
};

int ring_new(int map_fd, size_t size, struct ring **ret_ring)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	char *producer;

	if (!ring)
		return -ENOMEM;
	ring->size = size;
	ring->page = sysconf(_SC_PAGESIZE);
	ring->consumer = mmap(NULL, ring->page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (ring->consumer == MAP_FAILED) {
		int r = -errno;

		free(ring);
		return r;
	}
	producer = mmap(NULL, ring->page + 2 * size, PROT_READ, MAP_SHARED, map_fd, ring->page);
	if (producer == MAP_FAILED) {
		int r = -errno;

		munmap(ring->consumer, ring->page);
		free(ring);
		return r;
	}
	ring->producer = (const unsigned long *)producer;
	ring->data = producer + ring->page;
	*ret_ring = ring;
	return 0;
}

static size_t padded(uint32_t header)
{
	return (BPF_RINGBUF_HDR_SZ + (header & LENGTH_MASK) + 7) & ~(size_t)7;
}

uint64_t ring_first(const struct ring *ring)
{
	return __atomic_load_n(ring->consumer, __ATOMIC_RELAXED);
}

uint64_t ring_end(const struct ring *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
}

size_t ring_range(const struct ring *ring, uint64_t at, size_t n_max, const void **ret_records)
{
	uint64_t end = ring_end(ring);
	const char *records = ring->data + (at & (ring->size - 1));
	size_t n = 0;

	while (at + n < end) {
		uint32_t header = __atomic_load_n((const uint32_t *)(records + n), __ATOMIC_ACQUIRE);

		if (header & BPF_RINGBUF_BUSY_BIT || n + padded(header) > n_max)
			break;
		n += padded(header);
	}
	*ret_records = records;
	return n;
}

void ring_release(struct ring *ring, uint64_t at)
{
	__atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
}

const void *ring_record(const void *range, size_t n, size_t *at, uint32_t *ret_size)
{
	while (*at + BPF_RINGBUF_HDR_SZ <= n) {
		const char *record = (const char *)range + *at;
		uint32_t header;

		memcpy(&header, record, sizeof(header));
		*at += padded(header);
		if (header & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*ret_size = header & LENGTH_MASK;
		return record + BPF_RINGBUF_HDR_SZ;
	}
	return NULL;
}

size_t ring_pending(const struct ring *ring)
{
	return ring_end(ring) - ring_first(ring);
}

struct ring *ring_free(struct ring *ring)
{
	if (!ring)
		return NULL;
	munmap((void *)ring->producer, ring->page + 2 * ring->size);
	munmap(ring->consumer, ring->page);
	free(ring);
	return NULL;
}
