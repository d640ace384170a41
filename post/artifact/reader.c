/* reader.c: a MemtrackArtifact event by event. */
#include "artifact/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/decode.h"
#include "artifact/zstream.h"
#include "util/cleanup.h"
#include "util/grow.h"

#define WINDOW_BYTES    (256u << 10)
#define EVENT_BYTES_MAX (64u << 20) /* far above any event; what claims more is not one */

struct artifact_reader {
	struct zstream stream;
	struct event_decoder decoder;
	uint8_t *window; /* decompressed bytes: those in [at, end) are not read yet */
	size_t n_window_allocated;
	size_t at;
	size_t end;
	int state; /* ARTIFACT_EVENT as long as there may be more; else what `next` answers from now on */
	const char *reason;
	uint64_t n_unknown;
	uint64_t n_malformed;
};

int artifact_reader_new(int fd, struct artifact_reader **ret_reader)
{
	struct artifact_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	reader->state = ARTIFACT_EVENT;
	reader->reason = "there may be more events";
	r = zstream_init(&reader->stream, fd);
	if (r >= 0)
		r = grow_array(&reader->window, &reader->n_window_allocated, WINDOW_BYTES, 1);
	if (r < 0) {
		artifact_reader_free(reader);
		return r;
	}
	*ret_reader = reader;
	return 0;
}

static void stop(struct artifact_reader *reader, int state, const char *reason)
{
	reader->state = state;
	reader->reason = reason;
}

/* The stream gives no more, and n_left bytes of an event are over. */
static void stop_at_end(struct artifact_reader *reader, size_t n_left)
{
	switch (reader->stream.state) {
	case ZSTREAM_CORRUPT:
		stop(reader, ARTIFACT_CORRUPT, reader->stream.reason);
		break;
	case ZSTREAM_CUT:
		stop(reader, ARTIFACT_CUT,
		        reader->stream.any_frame || reader->stream.in_frame ? "the last frame is cut short"
		                                                            : "the file is empty");
		break;
	default:
		if (n_left > 0)
			stop(reader, ARTIFACT_CUT, "the last event is cut short");
		else
			stop(reader, ARTIFACT_END, "the end of the artifact");
	}
}

/* Gets more of the stream behind what is left of the window. The window doubles each time an event does not
 * fit in, so that reading its start again and again stays linear. */
static void fill(struct artifact_reader *reader)
{
	size_t n_left = reader->end - reader->at;
	size_t n_wanted = n_left * 2 > WINDOW_BYTES ? n_left * 2 : WINDOW_BYTES;
	ssize_t n;
	int r;

	if (reader->stream.state != ZSTREAM_OPEN) {
		stop_at_end(reader, n_left);
		return;
	}
	if (n_left >= EVENT_BYTES_MAX) {
		stop(reader, ARTIFACT_CORRUPT, "an event of more than 64 MiB");
		return;
	}
	memmove(reader->window, reader->window + reader->at, n_left);
	reader->at = 0;
	reader->end = n_left;
	r = grow_array(&reader->window, &reader->n_window_allocated, n_wanted, 1);
	if (r < 0) {
		stop(reader, r, "out of memory");
		return;
	}
	n = zstream_read(&reader->stream, reader->window + n_left, n_wanted - n_left);
	if (n < 0) {
		stop(reader, (int)n, "the file could not be read");
		return;
	}
	reader->end += (size_t)n;
}

int artifact_reader_next(struct artifact_reader *reader, struct event *ret_event)
{
	while (reader->state == ARTIFACT_EVENT) {
		size_t n_used = 0;
		int r = event_decode(&reader->decoder, reader->window + reader->at, reader->end - reader->at,
		        &n_used, ret_event);

		reader->at += n_used;
		switch (r) {
		case EVENT_DECODE_OK:
			return ARTIFACT_EVENT;
		case EVENT_DECODE_MORE:
			fill(reader);
			break;
		case EVENT_DECODE_UNKNOWN:
			reader->n_unknown++;
			break;
		case EVENT_DECODE_MALFORMED:
			reader->n_malformed++;
			break;
		case EVENT_DECODE_BAD:
			stop(reader, ARTIFACT_CORRUPT, "not a stream of MessagePack maps");
			break;
		default:
			stop(reader, r, "out of memory");
		}
	}
	return reader->state;
}

const char *artifact_reader_reason(const struct artifact_reader *reader)
{
	return reader->reason;
}

uint64_t artifact_reader_n_unknown(const struct artifact_reader *reader)
{
	return reader->n_unknown;
}

uint64_t artifact_reader_n_malformed(const struct artifact_reader *reader)
{
	return reader->n_malformed;
}

struct artifact_reader *artifact_reader_free(struct artifact_reader *reader)
{
	if (!reader)
		return NULL;
	zstream_deinit(&reader->stream);
	event_decoder_deinit(&reader->decoder);
	free(reader->window);
	free(reader);
	return NULL;
}
