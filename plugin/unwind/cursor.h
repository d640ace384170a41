/* cursor.h: reading numbers from a section, never beyond its end (DWARF 4 section 7.6: LEB128). */
#ifndef PLUGIN_UNWIND_CURSOR_H
#define PLUGIN_UNWIND_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A position in the section; reading past the end sets `bad` and gives 0. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline uint64_t read_bytes(struct cursor *cursor, unsigned n)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < n) {
		cursor->bad = true;
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, n); /* little endian, as both supported machines are */
	cursor->at += n;
	return value;
}

/* Both kinds of LEB128; bits beyond 64 are dropped. */
static inline uint64_t read_leb(struct cursor *cursor, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = read_bytes(cursor, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return value;
}

static inline uint64_t read_uleb(struct cursor *cursor)
{
	return read_leb(cursor, false);
}

static inline int64_t read_sleb(struct cursor *cursor)
{
	return (int64_t)read_leb(cursor, true);
}

static inline void skip(struct cursor *cursor, uint64_t n)
{
	if (n > (size_t)(cursor->end - cursor->at)) {
		cursor->bad = true;
		n = cursor->end - cursor->at;
	}
	cursor->at += n;
}

#endif
