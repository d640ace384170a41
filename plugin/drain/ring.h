/* ring.h: the consumer's side of the BPF ring buffer, in ranges.
 *
 * libbpf hands records on one by one, each with a call and a store to the shared position. Here a range of records
 * that are complete is read where it lies, by whoever wants it, and given back to the producers in one step.
 */
#ifndef PLUGIN_DRAIN_RING_H
#define PLUGIN_DRAIN_RING_H

#include <stddef.h>
#include <stdint.h>

struct ring;

/* Maps the ring behind `map_fd`, of `size` bytes (a power of two). Negative errno. */
int ring_new(int map_fd, size_t size, struct ring **ret_ring);

/* Positions count bytes since the ring was made. Where the first record is that was not released, and where the next
 * one will be added. */
uint64_t ring_first(const struct ring *ring);
uint64_t ring_end(const struct ring *ring);

/* Records from `at` on, whole and complete ones, n_max bytes of them at most: their number of bytes. Each is a 8-byte
 * header and its data, padded to 8 bytes; read them with ring_record. They stay where they are until released. */
size_t ring_range(const struct ring *ring, uint64_t at, size_t n_max, const void **ret_records);

/* Gives the space of all records before `at` back to the producers. One thread at a time. */
void ring_release(struct ring *ring, uint64_t at);

/* The record at *at of a range of n bytes; moves *at behind it. NULL at the end. Discarded ones are skipped. */
const void *ring_record(const void *range, size_t n, size_t *at, uint32_t *ret_size);

/* Bytes that were not released yet. */
size_t ring_pending(const struct ring *ring);

/* NULL-safe; returns NULL. */
struct ring *ring_free(struct ring *ring);

#endif
