/* string_pool.h: interned strings: equal text has an equal number. */
#ifndef POST_UTIL_STRING_POOL_H
#define POST_UTIL_STRING_POOL_H

#include <stddef.h>
#include <stdint.h>

/* The empty string, which also stands for NULL. */
#define STRING_EMPTY 0u

struct string_pool;

/* 0 or -ENOMEM. */
int string_pool_new(struct string_pool **ret_strings);

/* The number of `text` (NULL: STRING_EMPTY), which is copied when it is new. 0, -ENOMEM, or -E2BIG when there
 * are 2^32 strings. */
int string_pool_add(struct string_pool *strings, const char *text, uint32_t *ret_id);

/* The text of a number; valid as long as `strings`. */
const char *string_pool_get(const struct string_pool *strings, uint32_t id);

/* How many there are: numbers go from 0 to this, excluded. */
size_t string_pool_count(const struct string_pool *strings);

/* NULL-safe; returns NULL. */
struct string_pool *string_pool_free(struct string_pool *strings);

#endif
