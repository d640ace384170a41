/* map64.c: open addressing with linear probing, at most half full. */
#include "util/map64.h"

#include <errno.h>
#include <stdlib.h>

#define MIN_SLOTS 64

static size_t find_slot(const struct map64 *map, uint64_t key)
{
	size_t mask = map->n_slots - 1;
	size_t slot = map64_mix(key) & mask;

	while (map->values[slot] && map->keys[slot] != key)
		slot = (slot + 1) & mask;
	return slot;
}

uint32_t map64_find(const struct map64 *map, uint64_t key)
{
	if (!map->n_slots)
		return MAP64_NONE;
	return map->values[find_slot(map, key)] - 1;
}

static int grow(struct map64 *map)
{
	struct map64 larger = {.n_slots = map->n_slots ? map->n_slots * 2 : MIN_SLOTS, .n_used = map->n_used};
	size_t slot, i;

	larger.keys = calloc(larger.n_slots, sizeof(*larger.keys));
	larger.values = calloc(larger.n_slots, sizeof(*larger.values));
	if (!larger.keys || !larger.values) {
		map64_deinit(&larger);
		return -ENOMEM;
	}
	for (i = 0; i < map->n_slots; i++) {
		if (!map->values[i])
			continue;
		slot = find_slot(&larger, map->keys[i]);
		larger.keys[slot] = map->keys[i];
		larger.values[slot] = map->values[i];
	}
	map64_deinit(map);
	*map = larger;
	return 0;
}

int map64_add(struct map64 *map, uint64_t key, uint32_t value)
{
	size_t slot;
	int error;

	if (map->n_used >= map->n_slots / 2) {
		error = grow(map);
		if (error < 0)
			return error;
	}
	slot = find_slot(map, key);
	map->keys[slot] = key;
	map->values[slot] = value + 1;
	map->n_used++;
	return 0;
}

void map64_set(struct map64 *map, uint64_t key, uint32_t value)
{
	map->values[find_slot(map, key)] = value + 1;
}

void map64_deinit(struct map64 *map)
{
	if (!map)
		return;
	free(map->keys);
	free(map->values);
	*map = (struct map64){0};
}
