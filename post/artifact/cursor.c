/* cursor.c: moving over values nobody asked for. */
#include "artifact/cursor.h"

/* Moves over a value's own bytes; *ret_n_inside values that belong to it follow. */
static enum cursor_result skip_one(struct cursor *cursor, uint64_t *ret_n_inside)
{
	/* Bytes after the tag, of the tags from 0xc0 on; 0x80 and above: so many bytes of length before that
	 * many bytes, and one more with 0x40 (an extension's type). */
	static const uint8_t after_tag[32] = {0, 0, 0, 0, 0x81, 0x82, 0x84, 0xc1, 0xc2, 0xc4, 4, 8, 1, 2, 4,
	        8, 1, 2, 4, 8, 2, 3, 5, 9, 17, 0x81, 0x82, 0x84};
	struct cursor start = *cursor;
	enum cursor_result r;
	const uint8_t *bytes;
	size_t n_bytes;
	uint64_t n = 0;
	uint8_t tag, after;

	*ret_n_inside = 0;
	if (cursor->at == cursor->end)
		return CURSOR_MORE;
	tag = *cursor->at;
	if (tag == 0xc1)
		return CURSOR_BAD;
	if (cursor_array(cursor, ret_n_inside) == CURSOR_OK)
		return CURSOR_OK;
	if (cursor_map(cursor, ret_n_inside) == CURSOR_OK) {
		*ret_n_inside *= 2;
		return CURSOR_OK;
	}
	if (tag >= 0xdc && tag <= 0xdf) /* a container, whose length is not all there */
		return CURSOR_MORE;
	r = cursor_str(cursor, &bytes, &n_bytes);
	if (r != CURSOR_OTHER)
		return r;
	if (tag < 0xc0 || tag >= 0xe0) {
		cursor->at++;
		return CURSOR_OK;
	}
	after = after_tag[tag - 0xc0];
	if (!(after & 0x80)) {
		cursor->at++;
		return cursor_bytes(cursor, start, after, &bytes, &n_bytes);
	}
	r = cursor_length(cursor, after & 0x0f, &n);
	return r == CURSOR_OK ? cursor_bytes(cursor, start, n + !!(after & 0x40), &bytes, &n_bytes) : r;
}

enum cursor_result cursor_skip(struct cursor *cursor)
{
	struct cursor start = *cursor;
	uint64_t n_left = 1;

	while (n_left > 0) {
		uint64_t n_inside;
		enum cursor_result r = skip_one(cursor, &n_inside);

		/* Each value inside takes a byte: what cannot fit is not waited for one by one. */
		if (r == CURSOR_OK && n_inside > cursor_left(cursor))
			r = CURSOR_MORE;
		if (r != CURSOR_OK) {
			*cursor = start;
			return r;
		}
		n_left += n_inside - 1;
	}
	return CURSOR_OK;
}
