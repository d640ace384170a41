/* name_cache.c: the names found at code addresses. */
#include "resolve/name_cache.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOTS 64

struct slot {
	uint64_t svma;
	struct module_name *names; /* NULL: a free slot */
	size_t n_names;
};

/* Open addressing; a power of two of slots, at most half of them used. */
struct name_cache {
	struct slot *slots;
	size_t n_slots;
	size_t n_used;
};

int name_cache_new(struct name_cache **ret_cache)
{
	struct name_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->slots = calloc(FIRST_SLOTS, sizeof(cache->slots[0]));
	if (!cache->slots) {
		free(cache);
		return -ENOMEM;
	}
	cache->n_slots = FIRST_SLOTS;
	*ret_cache = cache;
	return 0;
}

static struct slot *find_slot(struct slot *slots, size_t n_slots, uint64_t svma)
{
	size_t i = (size_t)((svma * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (n_slots - 1);

	while (slots[i].names && slots[i].svma != svma)
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

const struct module_name *name_cache_find(const struct name_cache *cache, uint64_t svma, size_t *ret_n_names)
{
	const struct slot *slot = find_slot(cache->slots, cache->n_slots, svma);

	if (slot->names)
		*ret_n_names = slot->n_names;
	return slot->names;
}

static int grow(struct name_cache *cache)
{
	size_t n_slots = cache->n_slots * 2;
	struct slot *slots = calloc(n_slots, sizeof(slots[0]));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < cache->n_slots; i++) {
		if (cache->slots[i].names)
			*find_slot(slots, n_slots, cache->slots[i].svma) = cache->slots[i];
	}
	free(cache->slots);
	cache->slots = slots;
	cache->n_slots = n_slots;
	return 0;
}

int name_cache_add(struct name_cache *cache, uint64_t svma, struct module_name *names, size_t n_names)
{
	int r = cache->n_used >= cache->n_slots / 2 ? grow(cache) : 0;

	if (r < 0)
		return r;
	*find_slot(cache->slots, cache->n_slots, svma) =
	        (struct slot){.svma = svma, .names = names, .n_names = n_names};
	cache->n_used++;
	return 0;
}

struct name_cache *name_cache_free(struct name_cache *cache)
{
	if (!cache)
		return NULL;
	for (size_t i = 0; i < cache->n_slots; i++)
		free(cache->slots[i].names);
	free(cache->slots);
	free(cache);
	return NULL;
}
