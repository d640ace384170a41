/* characters.h: text of unknown origin, one character at a time. */
#ifndef POST_REPORT_CHARACTERS_H
#define POST_REPORT_CHARACTERS_H

#include <stdbool.h>
#include <stdint.h>

/* The character at *text (not the terminating NUL), which moves behind it. Bytes that are no UTF-8 come one
 * at a time: *ret_valid is false and the result is the byte. */
uint32_t character_next(const char **text, bool *ret_valid);

/* Whether a terminal might act on the character instead of showing it: control characters, and those that
 * change the direction of what follows. */
bool character_is_control(uint32_t character);

#endif
