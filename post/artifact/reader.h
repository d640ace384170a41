/* reader.h: reads a MemtrackArtifact event by event, in memory that does not grow with their number. */
#ifndef POST_ARTIFACT_READER_H
#define POST_ARTIFACT_READER_H

#include <stdint.h>

#include "artifact/event.h"

struct artifact_reader;

/* What artifact_reader_next found besides events. */
enum artifact_state {
	ARTIFACT_END = 0,   /* the end, after a whole last frame */
	ARTIFACT_EVENT = 1, /* an event was stored */
	ARTIFACT_CUT = 2,   /* the stream ends inside a frame or an event: all events before it were given */
	ARTIFACT_CORRUPT = 3, /* not zstd, or not MessagePack maps, from here on */
};

/* Reads from `fd` at its current position; it stays the caller's. 0 or -ENOMEM. */
int artifact_reader_new(int fd, struct artifact_reader **ret_reader);

/* The next event, or one of enum artifact_state, or a negative errno of the read. Pointers in *ret_event
 * are valid until the next call. After anything but ARTIFACT_EVENT the same answer is given again.
 * Unknown keys and types are skipped; skipped types are counted. A field with a wrong type or out of range
 * makes its event malformed: it is skipped and counted. */
int artifact_reader_next(struct artifact_reader *reader, struct event *ret_event);

/* Why the reader stopped, for people; a constant or owned by the reader. */
const char *artifact_reader_reason(const struct artifact_reader *reader);

uint64_t artifact_reader_n_unknown(const struct artifact_reader *reader);
uint64_t artifact_reader_n_malformed(const struct artifact_reader *reader);

/* NULL-safe; returns NULL. */
struct artifact_reader *artifact_reader_free(struct artifact_reader *reader);

#endif
