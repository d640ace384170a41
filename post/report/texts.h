/* texts.h: interned strings: equal text has an equal number. */
#ifndef POST_REPORT_TEXTS_H
#define POST_REPORT_TEXTS_H

#include <stddef.h>
#include <stdint.h>

/* The empty string, which also stands for NULL. */
#define TEXTS_EMPTY 0u

struct texts;

/* 0 or -ENOMEM. */
int texts_new(struct texts **ret_strings);

/* The number of `text` (NULL: TEXTS_EMPTY), which is copied when it is new. 0, -ENOMEM, or -E2BIG when there
 * are 2^32 strings. */
int texts_add(struct texts *strings, const char *text, uint32_t *ret_id);

/* The text of a number; valid as long as `strings`. */
const char *texts_get(const struct texts *strings, uint32_t id);

/* How many there are: numbers go from 0 to this, excluded. */
size_t texts_count(const struct texts *strings);

/* NULL-safe; returns NULL. */
struct texts *texts_free(struct texts *strings);

#endif
