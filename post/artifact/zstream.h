/* zstream.h: the bytes of concatenated zstd frames, from a file descriptor. */
#ifndef POST_ARTIFACT_ZSTREAM_H
#define POST_ARTIFACT_ZSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <zstd.h>

enum zstream_state {
	ZSTREAM_OPEN,    /* there may be more */
	ZSTREAM_END,     /* ended after a whole frame */
	ZSTREAM_CUT,     /* ended inside a frame, or without any */
	ZSTREAM_CORRUPT, /* not zstd from here on */
};

struct zstream {
	int fd; /* borrowed */
	enum zstream_state state;
	const char *reason; /* why it is CORRUPT; a constant of zstd */
	ZSTD_DCtx *context;
	uint8_t *input;
	ZSTD_inBuffer in;
	bool at_eof;
	bool in_frame; /* a frame is begun and not ended */
	bool any_frame;
};

/* 0 or -ENOMEM. */
int zstream_init(struct zstream *stream, int fd);

/* Up to n (> 0) decompressed bytes; fewer only where the state is no longer ZSTREAM_OPEN. Their number, or
 * the negative errno of a read. Frames are allowed the window that zstd allows by default (128 MiB). */
ssize_t zstream_read(struct zstream *stream, uint8_t *ret_data, size_t n);

void zstream_deinit(struct zstream *stream);

#endif
