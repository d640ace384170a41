/* encode.h: events to MessagePack (FORMATS.md section 2). */
#ifndef POST_ARTIFACT_ENCODE_H
#define POST_ARTIFACT_ENCODE_H

#include <msgpack.h>

#include "artifact/event.h"

/* Appends one event to `buffer`. 0, -ENOMEM, or -EINVAL for no such type; on failure the buffer's size is
 * what it was. */
int event_encode(msgpack_sbuffer *buffer, const struct event *event);

#endif
