/* texts.h: a set of texts that hold for its whole life; equal text has equal address. */
#ifndef POST_RESOLVE_TEXTS_H
#define POST_RESOLVE_TEXTS_H

#include <stddef.h>

struct texts;

/* 0 or -ENOMEM. */
int texts_new(struct texts **ret_texts);

/* The set's own copy of the n bytes of `text`. Bytes that are not valid UTF-8 and control characters are
 * replaced by '?', so that every name can be written into any format. 0 or -ENOMEM. */
int texts_add(struct texts *texts, const char *text, size_t n, const char **ret_string);

/* NULL-safe; returns NULL. */
struct texts *texts_free(struct texts *texts);

#endif
