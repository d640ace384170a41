/* map64.h: 32-bit numbers, such as places in arrays, by 64-bit keys: number_map.h with an answer for "none".
 */
#ifndef POST_UTIL_MAP64_H
#define POST_UTIL_MAP64_H

#include <errno.h>

#include "util/number_map.h"

/* A zeroed one is empty and valid. The values in `map` are one more than they mean. */
struct map64 {
	struct number_map map;
};

/* What map64_find gives for an unknown key; never a value. */
#define MAP64_NONE UINT32_MAX

/* Spreads the bits of a key, each to its own number: for hashes of several numbers, and for keys of two
 * parts, of which number_map would see too little of the upper one. */
static inline uint64_t map64_mix(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	key ^= key >> 29;
	key *= 0xd6e8feb86659fd93ull;
	return key ^ (key >> 32);
}

/* The value of `key`, or MAP64_NONE. */
static inline uint32_t map64_find(const struct map64 *map, uint64_t key)
{
	return (uint32_t)number_map_get(&map->map, map64_mix(key)) - 1;
}

/* Stores `value` (below MAP64_NONE) for `key`, known or new. 0 or -ENOMEM; for a known key always 0. */
static inline int map64_set(struct map64 *map, uint64_t key, uint32_t value)
{
	uint64_t *slot = number_map_at(&map->map, map64_mix(key));

	if (!slot)
		return -ENOMEM;
	*slot = (uint64_t)value + 1;
	return 0;
}

static inline size_t map64_count(const struct map64 *map)
{
	return map->map.n;
}

static inline void map64_deinit(struct map64 *map)
{
	number_map_deinit(&map->map);
}

#endif
