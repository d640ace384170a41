/* characters.c: text of unknown origin. */
#include "report/characters.h"

#include <string.h>

#include "util/utf8.h"

#define MAX_LENGTH 4

uint32_t character_next(const char **text, bool *ret_valid)
{
	const unsigned char *bytes = (const unsigned char *)*text;
	size_t n = utf8_length(*text, strnlen(*text, MAX_LENGTH));
	uint32_t character = n > 1 ? bytes[0] & (0x7fu >> n) : bytes[0];

	for (size_t i = 1; i < n; i++)
		character = character << 6 | (bytes[i] & 0x3f);
	*ret_valid = n > 0;
	*text += n > 0 ? n : 1;
	return character;
}

bool character_is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
	       (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}
