/* writer.c: frames into a file. */
#include "artifact/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/file.h"

struct artifact_writer {
	int fd;
	int error; /* of the first frame that could not be written */
	struct artifact_frame *pending;
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
	if (artifact_frame_new(level, &writer->pending) < 0) {
		artifact_writer_free(writer);
		return -ENOMEM;
	}
	*ret_writer = writer;
	return 0;
}

/* The file ends with its last whole frame again. Where even this fails (a pipe, say) readers find the cut. */
static void cut_back(struct artifact_writer *writer)
{
	if (ftruncate(writer->fd, (off_t)writer->n_bytes) == 0)
		lseek(writer->fd, (off_t)writer->n_bytes, SEEK_SET);
}

static int write_frame(struct artifact_writer *writer, struct artifact_frame *frame)
{
	const uint8_t *data;
	size_t n;
	int r = artifact_frame_compress(frame, &data, &n);

	if (r < 0)
		return r;
	r = file_write_all(writer->fd, data, n);
	if (r < 0) {
		cut_back(writer);
		return r;
	}
	__atomic_store_n(&writer->n_bytes, writer->n_bytes + n, __ATOMIC_RELAXED);
	writer->n_frames++;
	return 0;
}

int artifact_writer_put(struct artifact_writer *writer, struct artifact_frame *frame)
{
	int r = writer->error ? writer->error : write_frame(writer, frame);

	if (r < 0) {
		writer->error = r;
		writer->n_lost += artifact_frame_n_events(frame);
	}
	artifact_frame_clear(frame);
	return r;
}

int artifact_writer_add(struct artifact_writer *writer, const struct event *event)
{
	int r = writer->error;

	if (r == 0)
		r = artifact_frame_add(writer->pending, event);
	if (r < 0) {
		writer->n_lost++;
		return r;
	}
	if (artifact_frame_n_bytes(writer->pending) < ARTIFACT_FRAME_BYTES)
		return 0;
	return artifact_writer_put(writer, writer->pending);
}

int artifact_writer_flush(struct artifact_writer *writer)
{
	if (writer->error)
		return writer->error;
	return artifact_frame_n_events(writer->pending) > 0 ? artifact_writer_put(writer, writer->pending)
	                                                    : 0;
}

int artifact_writer_finish(struct artifact_writer *writer)
{
	int r = artifact_writer_flush(writer);

	if (r < 0 || writer->n_frames > 0)
		return r;
	return artifact_writer_put(writer, writer->pending);
}

uint64_t artifact_writer_n_lost(const struct artifact_writer *writer)
{
	return writer->n_lost;
}

uint64_t artifact_writer_n_bytes(const struct artifact_writer *writer)
{
	return __atomic_load_n(&writer->n_bytes, __ATOMIC_RELAXED);
}

struct artifact_writer *artifact_writer_free(struct artifact_writer *writer)
{
	if (!writer)
		return NULL;
	artifact_frame_free(writer->pending);
	free(writer);
	return NULL;
}
