/* number_map.h: 64-bit numbers by 64-bit numbers. */
#ifndef POST_UTIL_NUMBER_MAP_H
#define POST_UTIL_NUMBER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_entry {
	uint64_t key;
	uint64_t value;
	bool used;
};

/* All zero: empty. Entries stay for good. */
struct number_map {
	struct number_entry *slots;
	size_t n_slots; /* 0 or a power of two */
	size_t n;       /* entries */
};

/* The value of a key, 0 where it is new; valid until the next call. NULL: no memory. */
uint64_t *number_map_at(struct number_map *map, uint64_t key);

/* The value of a key; 0 where there is none. */
uint64_t number_map_get(const struct number_map *map, uint64_t key);

bool number_map_has(const struct number_map *map, uint64_t key);

/* The entries in no particular order, *at starts at 0. NULL: no more. */
const struct number_entry *number_map_each(const struct number_map *map, size_t *at);

void number_map_deinit(struct number_map *map);

#endif
