/* text.c: numbers and foreign strings as people and JSON readers want them. */
#include "util/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/cleanup.h"

#define NS_PER_S 1000000000u

void text_count(uint64_t value, char ret_text[TEXT_NUMBER_SIZE])
{
	char digits[24];
	int n_digits = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	char *at = ret_text;

	for (int i = 0; i < n_digits; i++) {
		if (i > 0 && (n_digits - i) % 3 == 0)
			*at++ = ' ';
		*at++ = digits[i];
	}
	*at = '\0';
}

/* value / scale with one decimal below 100 and none above. False when it rounds up to 1000, which is for the
 * next unit to write. `last`: there is no next unit. */
static bool scaled(
        uint64_t value, uint64_t scale, const char *unit, bool last, char ret_text[TEXT_NUMBER_SIZE])
{
	uint64_t tenths = (uint64_t)(((unsigned __int128)value * 10 + scale / 2) / scale);

	if (tenths < 1000) {
		snprintf(ret_text, TEXT_NUMBER_SIZE, "%llu.%llu %s", (unsigned long long)(tenths / 10),
		        (unsigned long long)(tenths % 10), unit);
		return true;
	}
	tenths = (uint64_t)(((unsigned __int128)value + scale / 2) / scale);
	if (tenths >= 1000 && !last)
		return false;
	snprintf(ret_text, TEXT_NUMBER_SIZE, "%llu %s", (unsigned long long)tenths, unit);
	return true;
}

void text_bytes(uint64_t value, char ret_text[TEXT_NUMBER_SIZE])
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
	uint64_t scale = 1000;

	if (value < 1000) {
		snprintf(ret_text, TEXT_NUMBER_SIZE, "%u B", (unsigned)value);
		return;
	}
	for (size_t i = 0; i < N_ELEMENTS(units); i++, scale *= 1000)
		if (scaled(value, scale, units[i], i + 1 == N_ELEMENTS(units), ret_text))
			return;
}

void text_duration(uint64_t nanoseconds, char ret_text[TEXT_NUMBER_SIZE])
{
	static const char *const units[] = {"us", "ms"};
	uint64_t seconds = nanoseconds / NS_PER_S;
	uint64_t scale = 1000;

	if (nanoseconds < 1000) {
		snprintf(ret_text, TEXT_NUMBER_SIZE, "%u ns", (unsigned)nanoseconds);
		return;
	}
	for (size_t i = 0; i < N_ELEMENTS(units); i++, scale *= 1000)
		if (scaled(nanoseconds, scale, units[i], false, ret_text))
			return;
	if (seconds < 60)
		scaled(nanoseconds, NS_PER_S, "s", true, ret_text);
	else if (seconds < 3600)
		snprintf(ret_text, TEXT_NUMBER_SIZE, "%u min %02u s", (unsigned)(seconds / 60),
		        (unsigned)(seconds % 60));
	else
		snprintf(ret_text, TEXT_NUMBER_SIZE, "%llu h %02u min", (unsigned long long)(seconds / 3600),
		        (unsigned)(seconds / 60 % 60));
}

static bool starts_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t text_columns(const char *text)
{
	size_t n_columns = 0;

	for (; *text; text++)
		n_columns += starts_character(*text);
	return n_columns;
}

void text_fit(char *text, size_t n_columns)
{
	for (; *text; text++)
		if (starts_character(*text) && n_columns-- == 0) {
			*text = '\0';
			return;
		}
}

void text_defuse(char *text)
{
	for (unsigned char *at = (unsigned char *)text; *at; at++) {
		/* The second set of ISO 6429 is C2 80 to C2 9F in UTF-8. */
		if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f)
			at[0] = at[1] = '?';
		if (iscntrl(*at))
			*at = '?';
	}
}

/* Length of the well-formed UTF-8 sequence at `text`, 0 when there is none (The Unicode Standard, table 3-7).
 */
static size_t sequence_length(const unsigned char *text)
{
	static const struct {
		unsigned char first, last, second_low, second_high, length;
	} rows[] = {
	        {0x01, 0x7f, 0, 0, 1},
	        {0xc2, 0xdf, 0x80, 0xbf, 2},
	        {0xe0, 0xe0, 0xa0, 0xbf, 3},
	        {0xe1, 0xec, 0x80, 0xbf, 3},
	        {0xed, 0xed, 0x80, 0x9f, 3},
	        {0xee, 0xef, 0x80, 0xbf, 3},
	        {0xf0, 0xf0, 0x90, 0xbf, 4},
	        {0xf1, 0xf3, 0x80, 0xbf, 4},
	        {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		if (text[0] < rows[i].first || text[0] > rows[i].last)
			continue;
		if (rows[i].length > 1 && (text[1] < rows[i].second_low || text[1] > rows[i].second_high))
			return 0;
		for (size_t k = 2; k < rows[i].length; k++)
			if ((text[k] & 0xc0) != 0x80)
				return 0;
		return rows[i].length;
	}
	return 0;
}

char *text_utf8(const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	const unsigned char *from = (const unsigned char *)text;
	char *copy = malloc(strlen(text) * (sizeof(replacement) - 1) + 1);
	char *to = copy;

	if (!copy)
		return NULL;
	while (*from) {
		size_t length = sequence_length(from);

		memcpy(to, length ? (const char *)from : replacement,
		        length ? length : sizeof(replacement) - 1);
		to += length ? length : sizeof(replacement) - 1;
		from += length ? length : 1;
	}
	*to = '\0';
	return copy;
}

bool text_is_utf8(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length = 1;

	for (; *at && length; at += length)
		length = sequence_length(at);
	return length > 0;
}

int text_parse_bool(const char *text, bool *ret_value)
{
	static const char *const words[2][3] = {{"0", "false", "no"}, {"1", "true", "yes"}};

	for (int value = 0; value < 2; value++)
		for (size_t i = 0; i < N_ELEMENTS(words[value]); i++)
			if (!strcasecmp(text, words[value][i])) {
				*ret_value = value;
				return 0;
			}
	return -EINVAL;
}

int text_parse_number(const char *text, uint64_t maximum, uint64_t *ret_value)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || value > maximum)
		return -EINVAL;
	*ret_value = value;
	return 0;
}
