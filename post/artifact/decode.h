/* decode.h: one event out of a buffer of MessagePack (FORMATS.md section 2). */
#ifndef POST_ARTIFACT_DECODE_H
#define POST_ARTIFACT_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "artifact/event.h"

struct event_decoder {
	uint64_t *fp_chain; /* of the last definition */
	size_t n_fp_chain_allocated;
};

enum event_decode_result {
	EVENT_DECODE_OK = 0,
	EVENT_DECODE_MORE = 1,    /* the buffer ends inside the event */
	EVENT_DECODE_UNKNOWN = 2, /* a whole event of a type that is not ours */
	EVENT_DECODE_MALFORMED =
	        3,            /* a whole map that lacks a field, or has one of the wrong type or range */
	EVENT_DECODE_BAD = 4, /* no map, or no MessagePack */
};

/* Reads the event at the start of the n bytes. *ret_n_used is written for all whole events; *ret_event for
 * EVENT_DECODE_OK, with pointers into `data` and the decoder that hold until the next call. Keys may come in
 * any order; of a key that comes twice the last one counts. One of enum event_decode_result or -ENOMEM. */
int event_decode(struct event_decoder *decoder, const uint8_t *data, size_t n, size_t *ret_n_used,
        struct event *ret_event);

void event_decoder_deinit(struct event_decoder *decoder);

#endif
