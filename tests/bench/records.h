/* records.h: a ring as the kernel leaves it, filled with records that were made up. */
#ifndef TESTS_BENCH_RECORDS_H
#define TESTS_BENCH_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct records {
	int fd;       /* memory that ring_new can map */
	size_t size;  /* of the ring */
	char *memory; /* all of it, mapped */
	size_t n_bytes;
	uint64_t n_events;
};

/* Room for n_bytes of records. 0 or a negative errno. */
int records_init(struct records *records, size_t n_bytes);

/* Events of all kinds of allocator calls, every field a random number. */
void records_add_random(struct records *records, uint64_t n);

/* A heap as in mix.h: four threads, addresses that are used again, a few thousand call paths. `singly`: each call in a
 * record of its own. */
void records_add_realistic(struct records *records, uint64_t n, bool singly);

/* Definitions with n_bytes of random bytes each. */
void records_add_definitions(struct records *records, uint64_t n, uint32_t n_bytes);

/* How many bytes of whole records there are from `at` on, `limit` at most. */
size_t records_chunk(const struct records *records, size_t at, size_t limit);

/* As if nothing had been taken yet. */
void records_rewind(struct records *records);

void records_deinit(struct records *records);

#endif
