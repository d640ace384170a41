/* frame.c: encoding and compression. */
#include "artifact/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "artifact/encode.h"
#include "util/grow.h"

struct artifact_frame {
	ZSTD_CCtx *context;
	msgpack_sbuffer events;
	uint64_t n_events;
};

int artifact_frame_new(int level, struct artifact_frame **ret_frame)
{
	struct artifact_frame *frame = calloc(1, sizeof(*frame));

	if (!frame)
		return -ENOMEM;
	msgpack_sbuffer_init(&frame->events);
	frame->context = ZSTD_createCCtx();
	if (!frame->context) {
		artifact_frame_free(frame);
		return -ENOMEM;
	}
	/* Neither can fail: zstd clamps levels to what it has. */
	ZSTD_CCtx_setParameter(frame->context, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(frame->context, ZSTD_c_checksumFlag, 1);
	*ret_frame = frame;
	return 0;
}

int artifact_frame_add(struct artifact_frame *frame, const struct event *event)
{
	int r = event_encode(&frame->events, event);

	if (r < 0)
		return r;
	frame->n_events++;
	return 0;
}

size_t artifact_frame_n_bytes(const struct artifact_frame *frame)
{
	return frame->events.size;
}

uint64_t artifact_frame_n_events(const struct artifact_frame *frame)
{
	return frame->n_events;
}

static int compress(struct artifact_frame *frame, struct artifact_packed *packed)
{
	size_t n = frame->events.size;
	int r = grow_array(&packed->data, &packed->n_allocated, ZSTD_compressBound(n), 1);

	if (r < 0)
		return r;
	n = ZSTD_compress2(frame->context, packed->data, packed->n_allocated, frame->events.data, n);
	if (ZSTD_isError(n))
		return -ENOMEM; /* the only error left once there is room for any outcome */
	packed->n = n;
	return 0;
}

int artifact_frame_pack(struct artifact_frame *frame, struct artifact_packed *packed)
{
	int r;

	packed->n = 0;
	packed->n_events = frame->n_events;
	r = compress(frame, packed);
	msgpack_sbuffer_clear(&frame->events);
	frame->n_events = 0;
	return r;
}

void artifact_packed_deinit(struct artifact_packed *packed)
{
	free(packed->data);
	*packed = (struct artifact_packed){0};
}

struct artifact_frame *artifact_frame_free(struct artifact_frame *frame)
{
	if (!frame)
		return NULL;
	ZSTD_freeCCtx(frame->context);
	msgpack_sbuffer_destroy(&frame->events);
	free(frame);
	return NULL;
}
