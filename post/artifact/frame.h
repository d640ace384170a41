/* frame.h: one zstd frame of an artifact under construction: whole events, encoded, then compressed.
 *
 * Frames are independent of each other, so several threads may each fill and pack one of their own; only
 * their order in the file is the writer's business.
 */
#ifndef POST_ARTIFACT_FRAME_H
#define POST_ARTIFACT_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "artifact/event.h"

/* Uncompressed bytes of a frame: enough for compression, little enough to lose. */
#define ARTIFACT_FRAME_BYTES (1u << 20)

struct artifact_frame;

/* A frame as it will stand in the file, to be kept until it is its turn. Zeroed: none. */
struct artifact_packed {
	uint8_t *data;
	size_t n; /* 0: there was no memory for it */
	size_t n_allocated;
	uint64_t n_events;
};

/* `level` is the zstd level. 0 or -ENOMEM. */
int artifact_frame_new(int level, struct artifact_frame **ret_frame);

/* Adds one event. 0, -ENOMEM, or -EINVAL for no such type: then the frame is what it was. */
int artifact_frame_add(struct artifact_frame *frame, const struct event *event);

/* Uncompressed bytes and events so far. */
size_t artifact_frame_n_bytes(const struct artifact_frame *frame);
uint64_t artifact_frame_n_events(const struct artifact_frame *frame);

/* Compresses what was added (also nothing at all: an empty frame) to *packed, whose memory is used again, and
 * empties the frame for the next one. 0 or -ENOMEM: the events are gone then, and packed->n_events says how
 * many. */
int artifact_frame_pack(struct artifact_frame *frame, struct artifact_packed *packed);

void artifact_packed_deinit(struct artifact_packed *packed);

/* NULL-safe; returns NULL. */
struct artifact_frame *artifact_frame_free(struct artifact_frame *frame);

#endif
