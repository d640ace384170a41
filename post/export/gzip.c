/* gzip.c: by zlib. */
#include "export/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

/* zlib's windowBits: the largest window, and 16 for a gzip header without a name and a time. */
#define WINDOW_BITS (15 + 16)
#define MEM_LEVEL   8

struct gzip {
	FILE *out;
	z_stream stream;
	unsigned char buffer[64 * 1024];
};

int gzip_new(FILE *out, struct gzip **ret_gzip)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return -ENOMEM;
	gzip->out = out;
	if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEM_LEVEL,
	            Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return -ENOMEM;
	}
	*ret_gzip = gzip;
	return 0;
}

static int run(struct gzip *gzip, int flush)
{
	size_t n;
	int result;

	do {
		gzip->stream.next_out = gzip->buffer;
		gzip->stream.avail_out = sizeof(gzip->buffer);
		result = deflate(&gzip->stream, flush);
		if (result == Z_STREAM_ERROR)
			return -EIO;
		n = sizeof(gzip->buffer) - gzip->stream.avail_out;
		if (fwrite(gzip->buffer, 1, n, gzip->out) != n)
			return -EIO;
	} while (gzip->stream.avail_out == 0);
	return 0;
}

int gzip_write(struct gzip *gzip, const void *data, size_t n)
{
	const unsigned char *at = data;
	int error = 0;

	while (n && !error) {
		gzip->stream.next_in = (unsigned char *)(uintptr_t)at;
		gzip->stream.avail_in = n > 1 << 30 ? 1 << 30 : (unsigned)n;
		at += gzip->stream.avail_in;
		n -= gzip->stream.avail_in;
		error = run(gzip, Z_NO_FLUSH);
	}
	return error;
}

int gzip_finish(struct gzip *gzip)
{
	return run(gzip, Z_FINISH);
}

struct gzip *gzip_free(struct gzip *gzip)
{
	if (!gzip)
		return NULL;
	deflateEnd(&gzip->stream);
	free(gzip);
	return NULL;
}
