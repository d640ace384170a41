/* inbox.h: messages out of a pipe, in whatever pieces they arrive. */
#ifndef RUNNER_PIPES_INBOX_H
#define RUNNER_PIPES_INBOX_H

#include <stddef.h>
#include <stdint.h>

#include "pipes/protocol.h"

/* The longest message that is taken, without its length: a URI of that size is none. */
#define INBOX_MESSAGE_MAX 65536u

struct inbox {
	size_t n;        /* bytes in `data` */
	size_t n_taken;  /* of them, those of the message that inbox_next gave last */
	uint64_t n_skip; /* bytes of a refused message that are still to come */
	uint8_t data[PROTOCOL_LENGTH_SIZE + INBOX_MESSAGE_MAX];
};

enum inbox_result {
	INBOX_MORE,    /* no whole message is there */
	INBOX_MESSAGE, /* … valid until the next call */
	INBOX_REFUSED, /* one that is too long has been skipped */
};

/* Reads what there is from a non-blocking descriptor, as much as there is room for. Returns how many bytes;
 * 0: none now; -errno. */
ptrdiff_t inbox_read(struct inbox *inbox, int fd);

enum inbox_result inbox_next(struct inbox *inbox, const uint8_t **ret_data, size_t *ret_n);

/* Whether part of a message has come, and the rest has not. */
int inbox_is_waiting(const struct inbox *inbox);

/* Forgets that part: the next byte starts a message. */
void inbox_reset(struct inbox *inbox);

#endif
