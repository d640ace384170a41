/* strings.h: a set of texts, each kept once and known by a number. */
#ifndef POST_UTIL_STRINGS_H
#define POST_UTIL_STRINGS_H

#include <stddef.h>
#include <stdint.h>

/* All zero: no text but the empty one, which always has the number 0. */
struct strings {
	char *bytes; /* NUL-terminated texts one after the other */
	size_t n_bytes;
	size_t n_bytes_allocated;
	size_t *offsets; /* offsets[i]: text 1 + i */
	size_t n;
	size_t n_allocated;
	uint32_t *buckets; /* numbers by hash; 0: free */
	size_t n_buckets;
};

/* The number of a text of n bytes without NUL, added where it is new. 0 or -ENOMEM. */
int strings_add(struct strings *strings, const char *text, size_t n, uint32_t *ret_number);

/* The text of a number that strings_add gave. Valid until the next strings_add. */
const char *strings_get(const struct strings *strings, uint32_t number);

void strings_deinit(struct strings *strings);

#endif
