/* map64.h: a hash table from 64-bit keys to 32-bit values; entries are never removed. */
#ifndef POST_UTIL_MAP64_H
#define POST_UTIL_MAP64_H

#include <stddef.h>
#include <stdint.h>

/* A zeroed one is empty and valid. */
struct map64 {
	uint64_t *keys;
	uint32_t *values; /* value + 1; 0: free slot */
	size_t n_slots;   /* 0 or a power of two */
	size_t n_used;
};

/* What map64_find gives for an unknown key; never a value. */
#define MAP64_NONE UINT32_MAX

/* The value of `key`, or MAP64_NONE. */
uint32_t map64_find(const struct map64 *map, uint64_t key);

/* Stores `value` (below MAP64_NONE) for `key`, which must be new. 0 or -ENOMEM. */
int map64_add(struct map64 *map, uint64_t key, uint32_t value);

/* Replaces the value of a known key. */
void map64_set(struct map64 *map, uint64_t key, uint32_t value);

/* NULL-safe; the map is empty and valid again. */
void map64_deinit(struct map64 *map);

/* Spreads the bits of a key. */
static inline uint64_t map64_mix(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	key ^= key >> 29;
	key *= 0xd6e8feb86659fd93ull;
	return key ^ (key >> 32);
}

#endif
