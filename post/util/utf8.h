/* utf8.h: texts of unknown origin. */
#ifndef POST_UTIL_UTF8_H
#define POST_UTIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the valid UTF-8 character (RFC 3629) at the start of the n > 0 bytes; 0: there is none. */
size_t utf8_length(const char *text, size_t n);

/* A copy of the n bytes in which each byte that is not part of valid UTF-8, and each NUL, is U+FFFD: what
 * JSON can carry. The caller frees it. NULL: no memory. */
char *utf8_clean(const char *text, size_t n);

/* The character at *text (not the terminating NUL), which moves behind it. Bytes that are no UTF-8 come one
 * at a time: *ret_valid is false and the result is the byte. */
uint32_t utf8_next(const char **text, bool *ret_valid);

/* Whether a terminal might act on the character instead of showing it: control characters, and those that
 * change the direction of what follows. */
bool utf8_is_control(uint32_t character);

#endif
