/* test_inbox.c: messages in pieces. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipes/inbox.h"

static struct inbox inbox;
static int ends[2];

static void set_up(void)
{
	cr_assert_eq(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	inbox_reset(&inbox);
}

TestSuite(inbox, .init = set_up);

static void feed(const void *data, size_t n)
{
	cr_assert_eq(write(ends[1], data, n), (ssize_t)n);
	cr_assert_eq(inbox_read(&inbox, ends[0]), (ptrdiff_t)n);
}

static void expect_message(const char *text)
{
	const uint8_t *data;
	size_t n;

	cr_assert_eq(inbox_next(&inbox, &data, &n), INBOX_MESSAGE);
	cr_expect_eq(n, strlen(text));
	cr_expect_eq(memcmp(data, text, n), 0);
}

static void expect(enum inbox_result expected)
{
	const uint8_t *data;
	size_t n;

	cr_expect_eq(inbox_next(&inbox, &data, &n), expected);
}

Test(inbox, byte_by_byte)
{
	static const char bytes[] = "\3\0\0\0abc\0\0\0\0\1\0\0\0d";

	cr_expect_eq(inbox_read(&inbox, ends[0]), 0);
	for (size_t i = 0; i < 6; i++) {
		feed(bytes + i, 1);
		expect(INBOX_MORE);
		cr_expect(inbox_is_waiting(&inbox));
	}
	feed(bytes + 6, 1);
	expect_message("abc");
	expect(INBOX_MORE);
	cr_expect(!inbox_is_waiting(&inbox));
	feed(bytes + 7, sizeof(bytes) - 1 - 7);
	expect_message("");
	expect_message("d");
	expect(INBOX_MORE);
	cr_expect(!inbox_is_waiting(&inbox));
}

Test(inbox, longest_and_one_more)
{
	static uint8_t message[4 + INBOX_MESSAGE_MAX];
	const uint8_t *data;
	size_t n;

	fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
	memcpy(message, &(uint32_t){INBOX_MESSAGE_MAX}, 4);
	feed(message, sizeof(message));
	cr_expect_eq(inbox_next(&inbox, &data, &n), INBOX_MESSAGE);
	cr_expect_eq(n, INBOX_MESSAGE_MAX);
	expect(INBOX_MORE);
	/* The refused one is skipped to its end exactly, in whatever pieces. */
	memcpy(message, &(uint32_t){INBOX_MESSAGE_MAX + 1}, 4);
	feed(message, 4);
	expect(INBOX_MORE);
	feed(message + 4, INBOX_MESSAGE_MAX / 2);
	expect(INBOX_MORE);
	cr_expect(inbox_is_waiting(&inbox));
	feed(message + 4, INBOX_MESSAGE_MAX / 2);
	expect(INBOX_MORE);
	feed("x\2\0\0\0ok", 7);
	expect(INBOX_REFUSED);
	expect_message("ok");
	expect(INBOX_MORE);
}

Test(inbox, reset)
{
	feed("\377\377\377\377garbage", 11);
	expect(INBOX_MORE);
	inbox_reset(&inbox);
	feed("\5\0\0\0ab", 6);
	expect(INBOX_MORE);
	inbox_reset(&inbox);
	cr_expect(!inbox_is_waiting(&inbox));
	feed("\2\0\0\0ok", 6);
	expect_message("ok");
}
