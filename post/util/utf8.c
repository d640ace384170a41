<<<<<<< HEAD
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
=======
/* utf8.c: decoding with the checks of RFC 3629. */
#include "util/utf8.h"

static unsigned length_of(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

uint32_t utf8_next(const char **text, bool *ret_valid)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *bytes = (const unsigned char *)*text;
	unsigned n = length_of(bytes[0]), i;
	uint32_t character = n > 1 ? bytes[0] & (0x7fu >> n) : bytes[0];

	*ret_valid = n > 0;
	for (i = 1; i < n && *ret_valid; i++) {
		*ret_valid = (bytes[i] & 0xc0) == 0x80; /* a NUL ends it here */
		character = character << 6 | (bytes[i] & 0x3f);
	}
	if (n > 1 && *ret_valid)
		*ret_valid = character >= smallest[n] && character <= 0x10ffff &&
		             (character < 0xd800 || character > 0xdfff);
	*text += *ret_valid ? n : 1;
	return *ret_valid ? character : bytes[0];
}

bool utf8_is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
	       (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
>>>>>>> report
}
