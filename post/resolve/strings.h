/* strings.h: a set of strings that hold for its whole life; equal text has equal address. */
#ifndef POST_RESOLVE_STRINGS_H
#define POST_RESOLVE_STRINGS_H

#include <stddef.h>

struct strings;

/* 0 or -ENOMEM. */
int strings_new(struct strings **ret_strings);

/* The set's own copy of the n bytes of `text`. Bytes that are not valid UTF-8 and control characters are
 * replaced by '?', so that every name can be written into any format. 0 or -ENOMEM. */
int strings_add(struct strings *strings, const char *text, size_t n, const char **ret_string);

/* NULL-safe; returns NULL. */
struct strings *strings_free(struct strings *strings);

#endif
