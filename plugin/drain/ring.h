/* ring.h: the consumer's side of the BPF ring buffer, in batches.
 *
 * libbpf hands records on one by one, each with a call and a store to the shared position. Here everything that is
 * complete is copied at once, with the records' headers, and given back to the producers in one step.
 */
#ifndef PLUGIN_DRAIN_RING_H
#define PLUGIN_DRAIN_RING_H

#include <stddef.h>
#include <stdint.h>

struct ring;

/* Maps the ring behind `map_fd`, of `size` bytes (a power of two). Negative errno. */
int ring_new(int map_fd, size_t size, struct ring **ret_ring);

/* Copies as many complete records as fit to `buffer` and frees their space. Returns the bytes copied: each record is
 * a 8-byte header and its data, padded to 8 bytes; read them with ring_record. */
size_t ring_take(struct ring *ring, void *buffer, size_t size);

/* The record at *at of a batch of n bytes; moves *at behind it. NULL at the end. Discarded ones are skipped. */
const void *ring_record(const void *batch, size_t n, size_t *at, uint32_t *ret_size);

/* Bytes that wait in the ring. */
size_t ring_pending(const struct ring *ring);

/* NULL-safe; returns NULL. */
struct ring *ring_free(struct ring *ring);

#endif
