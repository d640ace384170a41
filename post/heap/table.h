/* table.h: live blocks by address: a hash table with open addressing, 32 bytes a slot. */
#ifndef POST_HEAP_TABLE_H
#define POST_HEAP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/replay.h"

/* Values of heap_block.time that are no time. */
#define TABLE_TIME_FREE UINT64_C(0xfffffffffffffffd) /* the slot is free */
#define TABLE_TIME_GONE UINT64_C(0xfffffffffffffffe) /* the address is known not to be live */
#define TABLE_TIME_MAX  UINT64_C(0xfffffffffffffffc)

/* All zero: empty, without memory. */
struct table {
	struct heap_block *slots;
	size_t n_slots; /* 0 or a power of two */
	size_t n;
};

/* The entry of an address, or NULL. Valid until the table changes. */
struct heap_block *table_find(const struct table *table, uint64_t addr);

/* The entry of an address, made (with the time TABLE_TIME_GONE) where there was none. NULL: no memory. */
struct heap_block *table_at(struct table *table, uint64_t addr);

/* Takes an entry that table_find or table_at gave out of the table. */
void table_remove(struct table *table, struct heap_block *block);

/* The entries of a table in no particular order: *at starts at 0. NULL: no more. */
struct heap_block *table_each(const struct table *table, size_t *at);

void table_deinit(struct table *table);

#endif
