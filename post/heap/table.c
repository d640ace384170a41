/* table.c: live blocks by address.
 *
 * Linear probing; removal moves later entries of the run back instead of leaving marks, since a heap
 * allocates and frees forever.
 */
#include "heap/table.h"

#include <stdlib.h>

#define N_SLOTS_FIRST 64

static size_t slot_of(const struct table *table, uint64_t addr)
{
	/* The high bits of the product depend on all bits of the address: take them. */
	return (addr * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - __builtin_ctzll(table->n_slots));
}

static struct heap_block *probe(const struct table *table, uint64_t addr)
{
	size_t i = slot_of(table, addr);

	while (table->slots[i].time != TABLE_TIME_FREE && table->slots[i].addr != addr)
		i = (i + 1) & (table->n_slots - 1);
	return &table->slots[i];
}

struct heap_block *table_find(const struct table *table, uint64_t addr)
{
	struct heap_block *block;

	if (table->n == 0)
		return NULL;
	block = probe(table, addr);
	return block->time == TABLE_TIME_FREE ? NULL : block;
}

static bool rehash(struct table *table, size_t n_slots)
{
	struct table larger = {.n_slots = n_slots, .n = table->n};

	larger.slots = reallocarray(NULL, n_slots, sizeof(larger.slots[0]));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < n_slots; i++)
		larger.slots[i].time = TABLE_TIME_FREE;
	for (size_t i = 0; i < table->n_slots; i++)
		if (table->slots[i].time != TABLE_TIME_FREE)
			*probe(&larger, table->slots[i].addr) = table->slots[i];
	free(table->slots);
	*table = larger;
	return true;
}

struct heap_block *table_at(struct table *table, uint64_t addr)
{
	struct heap_block *block;

	/* At most 3/4 full, so that probing ends soon, and at all. */
	if (table->n >= table->n_slots - table->n_slots / 4 &&
	        !rehash(table, table->n_slots ? table->n_slots * 2 : N_SLOTS_FIRST))
		return NULL;
	block = probe(table, addr);
	if (block->time == TABLE_TIME_FREE) {
		*block = (struct heap_block){.addr = addr, .time = TABLE_TIME_GONE};
		table->n++;
	}
	return block;
}

void table_remove(struct table *table, struct heap_block *block)
{
	size_t mask = table->n_slots - 1;
	size_t hole = (size_t)(block - table->slots);

	for (size_t i = (hole + 1) & mask; table->slots[i].time != TABLE_TIME_FREE; i = (i + 1) & mask) {
		size_t home = slot_of(table, table->slots[i].addr);

		/* Movable unless its home lies cyclically in (hole, i]. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			table->slots[hole] = table->slots[i];
			hole = i;
		}
	}
	table->slots[hole].time = TABLE_TIME_FREE;
	table->n--;
}

struct heap_block *table_each(const struct table *table, size_t *at)
{
	while (*at < table->n_slots) {
		struct heap_block *block = &table->slots[(*at)++];

		if (block->time != TABLE_TIME_FREE)
			return block;
	}
	return NULL;
}

void table_deinit(struct table *table)
{
	free(table->slots);
	*table = (struct table){0};
}
