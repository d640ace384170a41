/* writer.h: writes a MemtrackArtifact: whole events into whole zstd frames (FORMATS.md section 2). */
#ifndef POST_ARTIFACT_WRITER_H
#define POST_ARTIFACT_WRITER_H

#include <stdint.h>

#include "artifact/event.h"
#include "artifact/frame.h"

struct artifact_writer;

/* Writes to `fd`, which stays the caller's and must be at the end of an empty file.
 * `level` is the zstd level. 0 or -ENOMEM. */
int artifact_writer_new(int fd, int level, struct artifact_writer **ret_writer);

/* Adds one event; a frame is written when enough has come together. 0 or a negative errno of the write: the
 * events of the frame that could not be written are counted as lost, the file is cut back to its last whole
 * frame, and later events are only counted (the call then returns the first error again). */
int artifact_writer_add(struct artifact_writer *writer, const struct event *event);

/* Writes a frame that was filled elsewhere, behind what was written so far. Where that is done with frames of
 * several threads, the caller sees to it that only one at a time does it, in the right order. Errors as
 * above, and -ENOMEM for a frame that could not be packed. */
int artifact_writer_put(struct artifact_writer *writer, const struct artifact_packed *packed);

/* Writes what is pending as a frame of its own, so that it survives the death of this process. */
int artifact_writer_flush(struct artifact_writer *writer);

/* Flushes; writes one empty frame if there was no event at all. */
int artifact_writer_finish(struct artifact_writer *writer);

/* Events that were given and are not in the file. */
uint64_t artifact_writer_n_lost(const struct artifact_writer *writer);

/* Bytes written to the file so far. Any thread. */
uint64_t artifact_writer_n_bytes(const struct artifact_writer *writer);

/* NULL-safe; returns NULL. Does not flush. */
struct artifact_writer *artifact_writer_free(struct artifact_writer *writer);

#endif
