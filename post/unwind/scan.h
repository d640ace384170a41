/* scan.h: reads little-endian values from a bounded run of bytes. */
#ifndef POST_UNWIND_SCAN_H
#define POST_UNWIND_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A read that does not fit sets `failed` and gives 0; so does every later one. */
struct scan {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline struct scan scan_over(const uint8_t *start, const uint8_t *end)
{
	return (struct scan){.at = start, .end = end};
}

static inline size_t scan_left(const struct scan *scan)
{
	return scan->failed ? 0 : (size_t)(scan->end - scan->at);
}

/* An unsigned integer of n_bytes (at most 8). */
static inline uint64_t scan_unsigned(struct scan *scan, unsigned n_bytes)
{
	uint64_t value = 0;

	if (scan_left(scan) < n_bytes) {
		scan->failed = true;
		return 0;
	}
	for (unsigned i = 0; i < n_bytes; i++)
		value |= (uint64_t)scan->at[i] << (8 * i);
	scan->at += n_bytes;
	return value;
}

static inline int64_t scan_signed(struct scan *scan, unsigned n_bytes)
{
	unsigned unused = 64 - 8 * n_bytes;

	return (int64_t)(scan_unsigned(scan, n_bytes) << unused) >> unused;
}

/* LEB128; bits beyond the 64th are dropped. */
static inline uint64_t scan_uleb128(struct scan *scan)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)scan_unsigned(scan, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

/* Passes over a LEB128 value of either sign. */
static inline void scan_skip_leb128(struct scan *scan)
{
	(void)scan_uleb128(scan);
}

static inline void scan_skip(struct scan *scan, uint64_t n_bytes)
{
	if (scan_left(scan) < n_bytes)
		scan->failed = true;
	else
		scan->at += n_bytes;
}

#endif
