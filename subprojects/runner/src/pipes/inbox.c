/* inbox.c: bytes to messages. */
#include "pipes/inbox.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static void drop(struct inbox *inbox, size_t n)
{
	memmove(inbox->data, inbox->data + n, inbox->n - n);
	inbox->n -= n;
}

ptrdiff_t inbox_read(struct inbox *inbox, int fd)
{
	ssize_t n;

	drop(inbox, inbox->n_taken);
	inbox->n_taken = 0;
	do
		n = read(fd, inbox->data + inbox->n, sizeof(inbox->data) - inbox->n);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	inbox->n += (size_t)n;
	return n;
}

/* Drops what is there of a refused message. */
static enum inbox_result skip(struct inbox *inbox)
{
	size_t n = inbox->n_skip < inbox->n ? (size_t)inbox->n_skip : inbox->n;

	drop(inbox, n);
	inbox->n_skip -= n;
	return inbox->n_skip ? INBOX_MORE : INBOX_REFUSED;
}

enum inbox_result inbox_next(struct inbox *inbox, const uint8_t **ret_data, size_t *ret_n)
{
	uint32_t length;

	drop(inbox, inbox->n_taken);
	inbox->n_taken = 0;
	if (inbox->n_skip)
		return skip(inbox);
	if (inbox->n < PROTOCOL_LENGTH_SIZE)
		return INBOX_MORE;
	memcpy(&length, inbox->data, sizeof(length));
	length = le32toh(length);
	if (length > INBOX_MESSAGE_MAX) {
		drop(inbox, PROTOCOL_LENGTH_SIZE);
		inbox->n_skip = length;
		return skip(inbox);
	}
	if (inbox->n < PROTOCOL_LENGTH_SIZE + length)
		return INBOX_MORE;
	inbox->n_taken = PROTOCOL_LENGTH_SIZE + length;
	*ret_data = inbox->data + PROTOCOL_LENGTH_SIZE;
	*ret_n = length;
	return INBOX_MESSAGE;
}

int inbox_is_waiting(const struct inbox *inbox)
{
	return inbox->n > inbox->n_taken || inbox->n_skip > 0;
}

void inbox_reset(struct inbox *inbox)
{
	inbox->n = inbox->n_taken = 0;
	inbox->n_skip = 0;
}
