/* number_map.c: 64-bit numbers by 64-bit numbers. */
#include "util/number_map.h"

#include <stdlib.h>

#define N_SLOTS_FIRST 64

static struct number_entry *probe(const struct number_map *map, uint64_t key)
{
	size_t i = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & (map->n_slots - 1);

	while (map->slots[i].used && map->slots[i].key != key)
		i = (i + 1) & (map->n_slots - 1);
	return &map->slots[i];
}

static bool grow(struct number_map *map)
{
	struct number_map larger = {.n_slots = map->n_slots ? map->n_slots * 2 : N_SLOTS_FIRST, .n = map->n};

	larger.slots = calloc(larger.n_slots, sizeof(larger.slots[0]));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < map->n_slots; i++)
		if (map->slots[i].used)
			*probe(&larger, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = larger;
	return true;
}

uint64_t *number_map_at(struct number_map *map, uint64_t key)
{
	struct number_entry *entry;

	if (map->n >= map->n_slots / 2 && !grow(map))
		return NULL;
	entry = probe(map, key);
	if (!entry->used) {
		*entry = (struct number_entry){.key = key, .used = true};
		map->n++;
	}
	return &entry->value;
}

uint64_t number_map_get(const struct number_map *map, uint64_t key)
{
	return map->n_slots > 0 ? probe(map, key)->value : 0;
}

bool number_map_has(const struct number_map *map, uint64_t key)
{
	return map->n_slots > 0 && probe(map, key)->used;
}

const struct number_entry *number_map_each(const struct number_map *map, size_t *at)
{
	while (*at < map->n_slots) {
		const struct number_entry *entry = &map->slots[(*at)++];

		if (entry->used)
			return entry;
	}
	return NULL;
}

void number_map_deinit(struct number_map *map)
{
	free(map->slots);
	*map = (struct number_map){0};
}
