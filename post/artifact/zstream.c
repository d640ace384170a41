/* zstream.c: the bytes of concatenated zstd frames. */
#include "artifact/zstream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"

int zstream_init(struct zstream *stream, int fd)
{
	memset(stream, 0, sizeof(*stream));
	stream->fd = fd;
	stream->context = ZSTD_createDCtx();
	stream->input = malloc(ZSTD_DStreamInSize());
	if (!stream->context || !stream->input) {
		zstream_deinit(stream);
		return -ENOMEM;
	}
	stream->in.src = stream->input;
	return 0;
}

static int refill(struct zstream *stream)
{
	ssize_t n = file_read_up_to(stream->fd, stream->input, ZSTD_DStreamInSize());

	if (n < 0)
		return (int)n;
	stream->in.size = (size_t)n;
	stream->in.pos = 0;
	stream->at_eof = n == 0;
	return 0;
}

/* One step of zstd, which either moves on or has nothing left to work with. */
static void step(struct zstream *stream, ZSTD_outBuffer *out)
{
	size_t in_before = stream->in.pos, out_before = out->pos;
	size_t hint;

	if (stream->at_eof && !stream->in_frame) {
		stream->state = stream->any_frame ? ZSTREAM_END : ZSTREAM_CUT;
		return;
	}
	hint = ZSTD_decompressStream(stream->context, out, &stream->in);
	if (ZSTD_isError(hint)) {
		stream->state = ZSTREAM_CORRUPT;
		stream->reason = ZSTD_getErrorName(hint);
		return;
	}
	stream->in_frame = hint != 0;
	stream->any_frame = stream->any_frame || hint == 0;
	if (stream->at_eof && stream->in_frame && stream->in.pos == in_before && out->pos == out_before)
		stream->state = ZSTREAM_CUT;
}

ssize_t zstream_read(struct zstream *stream, uint8_t *ret_data, size_t n)
{
	ZSTD_outBuffer out = {.dst = ret_data, .size = n};

	while (stream->state == ZSTREAM_OPEN && out.pos < out.size) {
		if (stream->in.pos == stream->in.size && !stream->at_eof) {
			int r = refill(stream);

			if (r < 0)
				return r;
		}
		step(stream, &out);
	}
	return (ssize_t)out.pos;
}

void zstream_deinit(struct zstream *stream)
{
	ZSTD_freeDCtx(stream->context);
	free(stream->input);
	stream->context = NULL;
	stream->input = NULL;
}
