/* utf8.c: texts of unknown origin. */
#include "util/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

size_t utf8_length(const char *text, size_t n)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t length = bytes[0] < 0x80   ? 1
	                : bytes[0] < 0xc2 ? 0
	                : bytes[0] < 0xe0 ? 2
	                : bytes[0] < 0xf0 ? 3
	                : bytes[0] < 0xf5 ? 4
	                                  : 0;

	if (length > n)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
	if ((bytes[0] == 0xe0 && bytes[1] < 0xa0) || (bytes[0] == 0xed && bytes[1] > 0x9f) ||
	        (bytes[0] == 0xf0 && bytes[1] < 0x90) || (bytes[0] == 0xf4 && bytes[1] > 0x8f))
		return 0;
	return length;
}

char *utf8_clean(const char *text, size_t n)
{
	char *clean = malloc(3 * n + 1), *to = clean;

	if (!clean)
		return NULL;
	while (n > 0) {
		size_t length = *text ? utf8_length(text, n) : 0;

		if (length > 0) {
			memcpy(to, text, length);
			to += length;
		} else {
			memcpy(to, REPLACEMENT, 3);
			to += 3;
			length = 1;
		}
		text += length;
		n -= length;
	}
	*to = '\0';
	return clean;
}

uint32_t utf8_next(const char **text, bool *ret_valid)
{
	const uint8_t *bytes = (const uint8_t *)*text;
	size_t length = utf8_length(*text, strnlen(*text, 4));
	uint32_t character = length > 1 ? bytes[0] & (0x7fu >> length) : bytes[0];

	for (size_t i = 1; i < length; i++)
		character = character << 6 | (bytes[i] & 0x3f);
	*ret_valid = length > 0;
	*text += length > 0 ? length : 1;
	return character;
}

bool utf8_is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
	       (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}
