/* writer.c: whole events into whole zstd frames. */
#include "artifact/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "artifact/encode.h"
#include "util/cleanup.h"
#include "util/file.h"
#include "util/grow.h"

/* Uncompressed bytes of a frame: enough for compression, little enough to lose. */
#define FRAME_BYTES (1u << 20)

struct artifact_writer {
	int fd;
	int error; /* of the first frame that could not be written */
	ZSTD_CCtx *context;
	msgpack_sbuffer pending;
	uint8_t *frame; /* compressed */
	size_t n_frame_allocated;
	uint64_t n_pending;
	uint64_t n_frames;
	uint64_t n_lost;
	uint64_t n_bytes;
};

int artifact_writer_new(int fd, int level, struct artifact_writer **ret_writer)
{
	struct artifact_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -ENOMEM;
	writer->fd = fd;
	writer->context = ZSTD_createCCtx();
	if (!writer->context) {
		artifact_writer_free(writer);
		return -ENOMEM;
	}
	msgpack_sbuffer_init(&writer->pending);
	/* Neither can fail: zstd clamps levels to what it has. */
	ZSTD_CCtx_setParameter(writer->context, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(writer->context, ZSTD_c_checksumFlag, 1);
	*ret_writer = writer;
	return 0;
}

/* The file ends with its last whole frame again. Where even this fails (a pipe, say) readers find the cut. */
static void cut_back(struct artifact_writer *writer)
{
	if (ftruncate(writer->fd, (off_t)writer->n_bytes) == 0)
		lseek(writer->fd, (off_t)writer->n_bytes, SEEK_SET);
}

static int compress_pending(struct artifact_writer *writer, size_t *ret_n)
{
	size_t n;
	int r = grow_array(
	        &writer->frame, &writer->n_frame_allocated, ZSTD_compressBound(writer->pending.size), 1);

	if (r < 0)
		return r;
	n = ZSTD_compress2(writer->context, writer->frame, writer->n_frame_allocated, writer->pending.data,
	        writer->pending.size);
	if (ZSTD_isError(n))
		return -ENOMEM; /* the only error left once there is room for any outcome */
	*ret_n = n;
	return 0;
}

static int write_frame(struct artifact_writer *writer)
{
	size_t n = 0;
	int r = compress_pending(writer, &n);

	if (r >= 0) {
		r = file_write_all(writer->fd, writer->frame, n);
		if (r < 0)
			cut_back(writer);
	}
	if (r < 0) {
		writer->error = r;
		writer->n_lost += writer->n_pending;
	} else {
		writer->n_bytes += n;
		writer->n_frames++;
	}
	writer->n_pending = 0;
	msgpack_sbuffer_clear(&writer->pending);
	return r;
}

int artifact_writer_add(struct artifact_writer *writer, const struct event *event)
{
	int r = writer->error;

	if (r == 0)
		r = event_encode(&writer->pending, event);
	if (r < 0) {
		writer->n_lost++;
		return r;
	}
	writer->n_pending++;
	return writer->pending.size >= FRAME_BYTES ? write_frame(writer) : 0;
}

int artifact_writer_flush(struct artifact_writer *writer)
{
	if (writer->error)
		return writer->error;
	return writer->n_pending > 0 ? write_frame(writer) : 0;
}

int artifact_writer_finish(struct artifact_writer *writer)
{
	int r = artifact_writer_flush(writer);

	if (r < 0 || writer->n_frames > 0)
		return r;
	return write_frame(writer);
}

uint64_t artifact_writer_n_lost(const struct artifact_writer *writer)
{
	return writer->n_lost;
}

uint64_t artifact_writer_n_bytes(const struct artifact_writer *writer)
{
	return writer->n_bytes;
}

struct artifact_writer *artifact_writer_free(struct artifact_writer *writer)
{
	if (!writer)
		return NULL;
	ZSTD_freeCCtx(writer->context);
	msgpack_sbuffer_destroy(&writer->pending);
	free(writer->frame);
	free(writer);
	return NULL;
}
