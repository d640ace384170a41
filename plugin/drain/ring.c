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

size_t ring_take(struct ring *ring, void *buffer, size_t size)
{
	unsigned long start = *ring->consumer, end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE), at = start;

	while (at < end) {
		const uint32_t *record = (const uint32_t *)(ring->data + (at & (ring->size - 1)));
		uint32_t header = __atomic_load_n(record, __ATOMIC_ACQUIRE);

		if (header & BPF_RINGBUF_BUSY_BIT || at - start + padded(header) > size)
			break;
		at += padded(header);
	}
	memcpy(buffer, ring->data + (start & (ring->size - 1)), at - start);
	__atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
	return at - start;
}

const void *ring_record(const void *batch, size_t n, size_t *at, uint32_t *ret_size)
{
	while (*at + BPF_RINGBUF_HDR_SZ <= n) {
		const char *record = (const char *)batch + *at;
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
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) - *ring->consumer;
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
