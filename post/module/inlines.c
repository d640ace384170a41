/* inlines.c: the file <key>.inlines of a profile.
 *
 * 8 bytes "MSINLIN1", then one zstd frame. In it, numbers are LEB128 (7 bits a byte, lowest first); where
 * they may be negative, zigzag-coded (0, -1, 1, -2, …). One table after the other, column after column, since
 * like compresses with like:
 *
 *   n strings     then per string its length, its bytes. The first one has number 1; 0 is "unknown".
 *   n scopes      columns: parent (0: a real function; else how many scopes before this one), name,
 * call_file, call_line (the last two only of those with a parent). Names and files are strings. n segments
 * columns: start (difference to the one before), 1 + scope (signed difference; 0: no scope). A segment
 * reaches to the start of the next one; its scope is the innermost there. n rows        columns: start
 * (difference), file (signed difference; a string, 0: end of code), line (signed difference). A row reaches
 * to the start of the next one.
 *
 * Starts are SVMAs, ascending.
 */
#include "module/inlines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "module/inline_tables.h"
#include "util/cleanup.h"
#include "util/file.h"
#include "util/grow.h"

#define MAGIC       "MSINLIN1"
#define MAGIC_BYTES 8
#define LEVEL       9 /* of zstd: written once, in the background of nothing */
#define FILE_MAX    ((size_t)1 << 30)
#define CONTENT_MAX ((size_t)4 << 30)

struct output {
	uint8_t *bytes;
	size_t n;
	size_t n_allocated;
	int error;
};

static void put_bytes(struct output *output, const void *bytes, size_t n)
{
	if (output->error == 0)
		output->error = grow_array(&output->bytes, &output->n_allocated, output->n + n, 1);
	if (output->error == 0)
		memcpy(output->bytes + output->n, bytes, n);
	output->n += n;
}

static void put_uint(struct output *output, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (uint8_t)(value | 0x80);
	bytes[n++] = (uint8_t)value;
	put_bytes(output, bytes, n);
}

static void put_difference(struct output *output, uint64_t value, uint64_t before)
{
	int64_t difference = (int64_t)(value - before);

	put_uint(output, (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63));
}

static void put_strings(struct output *output, const struct strings *strings)
{
	put_uint(output, strings->n);
	for (uint32_t number = 1; number <= strings->n; number++) {
		const char *text = strings_get(strings, number);

		put_uint(output, strlen(text));
		put_bytes(output, text, strlen(text));
	}
}

static void put_scopes(struct output *output, const struct inlines *inlines)
{
	const struct inline_scope *scopes = inlines->scopes;

	put_uint(output, inlines->n_scopes);
	for (size_t i = 0; i < inlines->n_scopes; i++)
		put_uint(output, scopes[i].parent == INLINES_NO_SCOPE ? 0 : i - scopes[i].parent);
	for (size_t i = 0; i < inlines->n_scopes; i++)
		put_uint(output, scopes[i].name);
	for (size_t i = 0; i < inlines->n_scopes; i++)
		if (scopes[i].parent != INLINES_NO_SCOPE)
			put_uint(output, scopes[i].call_file);
	for (size_t i = 0; i < inlines->n_scopes; i++)
		if (scopes[i].parent != INLINES_NO_SCOPE)
			put_uint(output, scopes[i].call_line);
}

static void put_segments(struct output *output, const struct inlines *inlines)
{
	const struct inline_segment *segments = inlines->segments;

	put_uint(output, inlines->n_segments);
	for (size_t i = 0; i < inlines->n_segments; i++)
		put_uint(output, segments[i].start - (i ? segments[i - 1].start : 0));
	for (size_t i = 0; i < inlines->n_segments; i++) /* 1 + INLINES_NO_SCOPE is 0 */
		put_difference(output, segments[i].scope + 1, i ? segments[i - 1].scope + 1 : 0);
}

static void put_rows(struct output *output, const struct inlines *inlines)
{
	const struct inline_row *rows = inlines->rows;

	put_uint(output, inlines->n_rows);
	for (size_t i = 0; i < inlines->n_rows; i++)
		put_uint(output, rows[i].start - (i ? rows[i - 1].start : 0));
	for (size_t i = 0; i < inlines->n_rows; i++)
		put_difference(output, rows[i].file, i ? rows[i - 1].file : 0);
	for (size_t i = 0; i < inlines->n_rows; i++)
		put_difference(output, rows[i].line, i ? rows[i - 1].line : 0);
}

int inlines_write(int fd, const struct inlines *inlines)
{
	struct output output = {0};
	CLEANUP_FREE uint8_t *content = NULL, *frame = NULL;
	size_t n_bound, n;
	int r;

	put_strings(&output, &inlines->strings);
	put_scopes(&output, inlines);
	put_segments(&output, inlines);
	put_rows(&output, inlines);
	content = output.bytes;
	if (output.error < 0)
		return output.error;
	n_bound = ZSTD_compressBound(output.n);
	frame = malloc(MAGIC_BYTES + n_bound);
	if (!frame)
		return -ENOMEM;
	memcpy(frame, MAGIC, MAGIC_BYTES);
	n = ZSTD_compress(frame + MAGIC_BYTES, n_bound, content, output.n, LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM;
	r = file_write_all(fd, frame, MAGIC_BYTES + n);
	return r;
}

struct input {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

static uint64_t take_uint(struct input *input)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (input->at == input->end)
			break;
		byte = *input->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	input->bad = true;
	return 0;
}

static uint64_t take_difference(struct input *input, uint64_t before)
{
	uint64_t value = take_uint(input);

	return before + (value >> 1 ^ -(value & 1));
}

/* How many of something follow, each of which takes n_bytes bytes at least: so the input bounds the memory.
 */
static size_t take_count(struct input *input, size_t n_bytes)
{
	uint64_t n = take_uint(input);

	if (n > (uint64_t)(input->end - input->at) / n_bytes || n >= UINT32_MAX)
		input->bad = true;
	return input->bad ? 0 : (size_t)n;
}

/* A number of at most `max`. */
static uint32_t check(struct input *input, uint64_t value, uint64_t max)
{
	if (value > max)
		input->bad = true;
	return input->bad ? 0 : (uint32_t)value;
}

static int take_strings(struct input *input, struct strings *strings)
{
	size_t n = take_count(input, 1);

	for (size_t i = 0; i < n && !input->bad; i++) {
		uint64_t length = take_uint(input);
		uint32_t number;
		int r;

		if (length == 0 || length > (uint64_t)(input->end - input->at) ||
		        memchr(input->at, 0, length)) {
			input->bad = true;
			break;
		}
		r = strings_add(strings, (const char *)input->at, length, &number);
		if (r < 0)
			return r;
		if (number != i + 1) /* one that was there already */
			input->bad = true;
		input->at += length;
	}
	return 0;
}

static int take_scopes(struct input *input, struct inlines *inlines)
{
	size_t n = take_count(input, 2), n_strings = inlines->strings.n;
	struct inline_scope *scopes = calloc(n ? n : 1, sizeof(scopes[0]));

	inlines->scopes = scopes;
	inlines->n_scopes = n;
	if (!scopes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t distance = check(input, take_uint(input), i);

		scopes[i].parent = distance ? (uint32_t)i - distance : INLINES_NO_SCOPE;
	}
	for (size_t i = 0; i < n; i++)
		scopes[i].name = check(input, take_uint(input), n_strings);
	for (size_t i = 0; i < n; i++)
		if (scopes[i].parent != INLINES_NO_SCOPE)
			scopes[i].call_file = check(input, take_uint(input), n_strings);
	for (size_t i = 0; i < n; i++)
		if (scopes[i].parent != INLINES_NO_SCOPE)
			scopes[i].call_line = check(input, take_uint(input), UINT32_MAX);
	return 0;
}

static int take_segments(struct input *input, struct inlines *inlines)
{
	size_t n = take_count(input, 2);
	struct inline_segment *segments = calloc(n ? n : 1, sizeof(segments[0]));
	uint64_t before = 0;

	inlines->segments = segments;
	inlines->n_segments = n;
	if (!segments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		segments[i].start = before + take_uint(input);
		if (segments[i].start < before)
			input->bad = true;
		before = segments[i].start;
	}
	before = 0;
	for (size_t i = 0; i < n; i++) {
		before = check(input, take_difference(input, before), inlines->n_scopes);
		segments[i].scope = (uint32_t)before - 1;
	}
	return 0;
}

static int take_rows(struct input *input, struct inlines *inlines)
{
	size_t n = take_count(input, 3);
	struct inline_row *rows = calloc(n ? n : 1, sizeof(rows[0]));
	uint64_t before = 0;

	inlines->rows = rows;
	inlines->n_rows = n;
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		rows[i].start = before + take_uint(input);
		if (rows[i].start < before)
			input->bad = true;
		before = rows[i].start;
	}
	before = 0;
	for (size_t i = 0; i < n; i++)
		before = rows[i].file = check(input, take_difference(input, before), inlines->strings.n);
	before = 0;
	for (size_t i = 0; i < n; i++)
		before = rows[i].line = check(input, take_difference(input, before), UINT32_MAX);
	return 0;
}

static int parse_content(const uint8_t *bytes, size_t n, struct inlines *inlines)
{
	struct input input = {.at = bytes, .end = bytes + n};
	int r = take_strings(&input, &inlines->strings);

	if (r >= 0)
		r = take_scopes(&input, inlines);
	if (r >= 0)
		r = take_segments(&input, inlines);
	if (r >= 0)
		r = take_rows(&input, inlines);
	if (r < 0)
		return r;
	return input.bad || input.at != input.end ? -EBADMSG : 0;
}

/* Unpacks a frame into memory that grows with what really comes out of it. */
static int unpack(const uint8_t *bytes, size_t n, uint8_t **ret_content, size_t *ret_n)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_inBuffer in = {.src = bytes, .size = n};
	ZSTD_outBuffer out = {0};
	size_t n_allocated = 0, hint = 1;
	int r = context ? 0 : -ENOMEM;

	while (r >= 0 && hint != 0) {
		size_t at = in.pos + out.pos;

		r = grow_array(&out.dst, &n_allocated, out.pos + ZSTD_DStreamOutSize(), 1);
		if (r < 0)
			break;
		out.size = n_allocated;
		hint = ZSTD_decompressStream(context, &out, &in);
		if (ZSTD_isError(hint) || out.pos > CONTENT_MAX || (hint != 0 && in.pos + out.pos == at))
			r = -EBADMSG;
	}
	if (r >= 0 && in.pos != in.size)
		r = -EBADMSG;
	ZSTD_freeDCtx(context);
	if (r < 0) {
		free(out.dst);
		return r;
	}
	*ret_content = out.dst;
	*ret_n = out.pos;
	return 0;
}

int inlines_parse(const uint8_t *bytes, size_t n, struct inlines **ret_inlines)
{
	CLEANUP_FREE uint8_t *content = NULL;
	struct inlines *inlines;
	size_t n_content;
	int r;

	if (n < MAGIC_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
		return -EBADMSG;
	r = unpack(bytes + MAGIC_BYTES, n - MAGIC_BYTES, &content, &n_content);
	if (r >= 0)
		r = inlines_new(&inlines);
	if (r < 0)
		return r;
	r = parse_content(content, n_content, inlines);
	if (r < 0) {
		inlines_free(inlines);
		return r;
	}
	*ret_inlines = inlines;
	return 0;
}

int inlines_read(int folder_fd, const char *key, struct inlines **ret_inlines)
{
	CLEANUP_FREE char *name = NULL, *bytes = NULL;
	size_t n;
	int r;

	if (asprintf(&name, "%s.inlines", key) < 0)
		return -ENOMEM;
	r = file_read_whole(folder_fd, name, FILE_MAX, &bytes, &n);
	return r < 0 ? r : inlines_parse((uint8_t *)bytes, n, ret_inlines);
}
