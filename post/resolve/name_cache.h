/* name_cache.h: the names found at code addresses. */
#ifndef POST_RESOLVE_NAME_CACHE_H
#define POST_RESOLVE_NAME_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct module_name;
struct name_cache;

/* 0 or -ENOMEM. */
int name_cache_new(struct name_cache **ret_cache);

/* The names at the address, or NULL. */
const struct module_name *name_cache_find(const struct name_cache *cache, uint64_t svma, size_t *ret_n_names);

/* Takes over the heap array `names` for an address that is not there yet. 0, or -ENOMEM and it stays the
 * caller's. */
int name_cache_add(struct name_cache *cache, uint64_t svma, struct module_name *names, size_t n_names);

/* NULL-safe; returns NULL. */
struct name_cache *name_cache_free(struct name_cache *cache);

#endif
