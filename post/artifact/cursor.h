/* cursor.h: reads MessagePack values in place, out of a buffer that may end in the middle of one.
 *
 * msgpack-c's unpacker builds an object tree per event; reading in place was measured to be several times as
 * fast, and millions of events are the normal case. Formats as in the MessagePack specification.
 */
#ifndef POST_ARTIFACT_CURSOR_H
#define POST_ARTIFACT_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
};

/* Except for CURSOR_OK the cursor is where it was. */
enum cursor_result {
	CURSOR_OK,
	CURSOR_MORE,  /* the buffer ends in the value */
	CURSOR_OTHER, /* a value of another type, or out of range */
	CURSOR_BAD,   /* the byte that starts no value (0xc1) */
};

static inline size_t cursor_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline uint64_t cursor_big_endian(const uint8_t *bytes, unsigned n)
{
	uint64_t value;

	switch (n) {
	case 1:
		return bytes[0];
	case 2:
		return (uint64_t)bytes[0] << 8 | bytes[1];
	case 4: {
		uint32_t word;

		__builtin_memcpy(&word, bytes, sizeof(word));
		return __builtin_bswap32(word);
	}
	default:
		__builtin_memcpy(&value, bytes, sizeof(value));
		return __builtin_bswap64(value);
	}
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "big endian words are swapped");

/* A non-negative integer of any width, signed or not. */
static inline enum cursor_result cursor_uint(struct cursor *cursor, uint64_t *ret_value)
{
	uint8_t tag;
	unsigned n;
	uint64_t value;

	if (cursor->at == cursor->end)
		return CURSOR_MORE;
	tag = *cursor->at;
	if (tag < 0x80) {
		cursor->at++;
		*ret_value = tag;
		return CURSOR_OK;
	}
	if (tag < 0xcc || tag > 0xd3)
		return CURSOR_OTHER;
	n = 1u << (tag & 3);
	if (cursor_left(cursor) < 1 + n)
		return CURSOR_MORE;
	value = cursor_big_endian(cursor->at + 1, n);
	if (tag >= 0xd0 && value >> (8 * n - 1)) /* negative */
		return CURSOR_OTHER;
	cursor->at += 1 + n;
	*ret_value = value;
	return CURSOR_OK;
}

/* A length that follows its tag in n bytes; the cursor moves behind it. */
static inline enum cursor_result cursor_length(struct cursor *cursor, unsigned n, uint64_t *ret_length)
{
	if (cursor_left(cursor) < 1 + n)
		return CURSOR_MORE;
	*ret_length = cursor_big_endian(cursor->at + 1, n);
	cursor->at += 1 + n;
	return CURSOR_OK;
}

/* What a container or string starts with: its tag's fixed form is `fixed` under `mask`, and `first` is the
 * tag with a length of 1 << shift bytes, followed by the wider ones. Strings: a0/e0, d9, 0; bin: none, c4, 0;
 * arrays: 90/f0, dc, 1; maps: 80/f0, de, 1. */
static inline enum cursor_result cursor_head(struct cursor *cursor, uint8_t fixed, uint8_t mask,
        uint8_t first, unsigned shift, uint64_t *ret_length)
{
	uint8_t tag;

	if (cursor->at == cursor->end)
		return CURSOR_MORE;
	tag = *cursor->at;
	if (mask && (tag & mask) == fixed) {
		cursor->at++;
		*ret_length = tag & (uint8_t)~mask;
		return CURSOR_OK;
	}
	if (tag < first || tag > first + 2u - shift)
		return CURSOR_OTHER;
	return cursor_length(cursor, 1u << (tag - first + shift), ret_length);
}

static inline enum cursor_result cursor_array(struct cursor *cursor, uint64_t *ret_n)
{
	return cursor_head(cursor, 0x90, 0xf0, 0xdc, 1, ret_n);
}

static inline enum cursor_result cursor_map(struct cursor *cursor, uint64_t *ret_n)
{
	return cursor_head(cursor, 0x80, 0xf0, 0xde, 1, ret_n);
}

static inline enum cursor_result cursor_bytes(
        struct cursor *cursor, struct cursor start, uint64_t n, const uint8_t **ret_bytes, size_t *ret_n)
{
	if (cursor_left(cursor) < n) {
		*cursor = start;
		return CURSOR_MORE;
	}
	*ret_bytes = cursor->at;
	*ret_n = (size_t)n;
	cursor->at += n;
	return CURSOR_OK;
}

/* The bytes stay in the buffer. */
static inline enum cursor_result cursor_str(struct cursor *cursor, const uint8_t **ret_text, size_t *ret_n)
{
	struct cursor start = *cursor;
	uint64_t n;
	enum cursor_result r = cursor_head(cursor, 0xa0, 0xe0, 0xd9, 0, &n);

	return r == CURSOR_OK ? cursor_bytes(cursor, start, n, ret_text, ret_n) : r;
}

static inline enum cursor_result cursor_bin(struct cursor *cursor, const uint8_t **ret_bytes, size_t *ret_n)
{
	struct cursor start = *cursor;
	uint64_t n;
	enum cursor_result r = cursor_head(cursor, 0, 0, 0xc4, 0, &n);

	return r == CURSOR_OK ? cursor_bytes(cursor, start, n, ret_bytes, ret_n) : r;
}

static inline enum cursor_result cursor_bool(struct cursor *cursor, bool *ret_value)
{
	if (cursor->at == cursor->end)
		return CURSOR_MORE;
	if ((*cursor->at & 0xfe) != 0xc2)
		return CURSOR_OTHER;
	*ret_value = *cursor->at++ & 1;
	return CURSOR_OK;
}

/* Moves over one value of any type, however deep; needs no memory. */
enum cursor_result cursor_skip(struct cursor *cursor);

#endif
