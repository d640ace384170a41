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
	struct artifact_packed packed; /* used again for each frame of its own */
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

static int write_frame(struct artifact_writer *writer, const struct artifact_packed *packed)
{
	int r = packed->n ? file_write_all(writer->fd, packed->data, packed->n) : -ENOMEM;

	if (r < 0) {
		cut_back(writer);
		return r;
	}
	__atomic_store_n(&writer->n_bytes, writer->n_bytes + packed->n, __ATOMIC_RELAXED);
	writer->n_frames++;
	return 0;
}

int artifact_writer_put(struct artifact_writer *writer, const struct artifact_packed *packed)
{
	int r = writer->error ? writer->error : write_frame(writer, packed);

	if (r < 0) {
		writer->error = r;
		writer->n_lost += packed->n_events;
	}
	return r;
}

/* Without memory to pack it, putting it fails and counts its events. */
static int put_pending(struct artifact_writer *writer)
{
	(void)artifact_frame_pack(writer->pending, &writer->packed);
	return artifact_writer_put(writer, &writer->packed);
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
	return put_pending(writer);
}

int artifact_writer_flush(struct artifact_writer *writer)
{
	if (writer->error)
		return writer->error;
	return artifact_frame_n_events(writer->pending) > 0 ? put_pending(writer) : 0;
}

int artifact_writer_finish(struct artifact_writer *writer)
{
	int r = artifact_writer_flush(writer);

	if (r < 0 || writer->n_frames > 0)
		return r;
	return put_pending(writer);
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
	artifact_packed_deinit(&writer->packed);
	free(writer);
	return NULL;
}
