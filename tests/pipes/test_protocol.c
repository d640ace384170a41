/* test_protocol.c: messages byte by byte. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipes/protocol.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* In memory of its exact size, so that a sanitizer sees every read beyond. */
static int decode(struct command *ret_command, const uint8_t *data, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	int r;

	memcpy(copy, data, n);
	r = command_init(ret_command, copy, n);
	free(copy);
	return r;
}

static void expect_bad(const uint8_t *data, size_t n)
{
	struct command command;

	cr_expect_eq(decode(&command, data, n), -EBADMSG, "%zu bytes, variant %u", n, n ? data[0] : 0);
}

Test(protocol, commands)
{
	struct command command;

	cr_assert_eq(decode(&command,
	                     BYTES(0, 0, 0, 0, 0x39, 0x30, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 'a', ':', ':', 'b')),
	        0);
	cr_expect_eq(command.kind, MESSAGE_CURRENT_BENCHMARK);
	cr_expect_eq(command.pid, 12345);
	cr_expect_str_eq(command.uri, "a::b");
	command_deinit(&command);
	cr_assert_eq(decode(&command, BYTES(5, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 'p', 'y', 1, 0, 0, 0, 0, 0, 0,
	                                      0, '4')),
	        0);
	cr_expect_eq(command.kind, MESSAGE_SET_INTEGRATION);
	cr_expect_str_eq(command.name, "py");
	cr_expect_str_eq(command.version, "4");
	command_deinit(&command);
	cr_assert_eq(decode(&command,
	                     BYTES(7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)),
	        0);
	cr_expect_eq(command.kind, MESSAGE_ADD_MARKER);
	cr_expect_eq(command.pid, -1);
	cr_expect_eq(command.marker, 3);
	cr_expect_eq(command.timestamp, 0x0807060504030201u);
	cr_assert_eq(decode(&command, BYTES(8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1)), 0);
	cr_expect_eq(command.protocol, 0x0100000000000002u);
	for (uint8_t kind = 1; kind < 10; kind++)
		if (kind == 1 || kind == 2 || kind == 4 || kind == 9) {
			cr_assert_eq(decode(&command, BYTES(kind, 0, 0, 0)), 0);
			cr_expect_eq(command.kind, kind);
		}
}

Test(protocol, answers)
{
	uint8_t data[PROTOCOL_ANSWER_MAX];

	cr_expect_eq(protocol_encode_answer(MESSAGE_ACK, data), 8);
	cr_expect_eq(memcmp(data, "\4\0\0\0\3\0\0\0", 8), 0);
	cr_expect_eq(protocol_encode_answer(MESSAGE_ERR, data), 8);
	cr_expect_eq(memcmp(data, "\4\0\0\0\6\0\0\0", 8), 0);
	cr_expect_eq(protocol_encode_answer(MESSAGE_INTEGRATION_MODE_RESPONSE, data), 12);
	cr_expect_eq(memcmp(data, "\10\0\0\0\12\0\0\0\2\0\0\0", 12), 0);
}

Test(protocol, unknown_and_not_commands)
{
	expect_bad(BYTES(3, 0, 0, 0));
	expect_bad(BYTES(6, 0, 0, 0));
	expect_bad(BYTES(10, 0, 0, 0, 2, 0, 0, 0));
	expect_bad(BYTES(11, 0, 0, 0));
	expect_bad(BYTES(1, 0, 0, 1));
	expect_bad(BYTES(0xff, 0xff, 0xff, 0xff));
}

/* Every message cut anywhere, and with a byte too many. */
Test(protocol, wrong_lengths)
{
	static const uint8_t messages[][24] = {
	        {0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 'a', 'b'},
	        {1},
	        {2},
	        {4},
	        {5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 'a', 1, 0, 0, 0, 0, 0, 0, 0, 'b'},
	        {7, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
	        {8, 0, 0, 0, 2},
	        {9},
	};
	static const size_t sizes[] = {18, 4, 4, 4, 22, 20, 12, 4};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct command command;

		for (size_t n = 0; n < sizes[i]; n++)
			expect_bad(messages[i], n);
		cr_expect_eq(decode(&command, messages[i], sizes[i]), 0, "message %zu", i);
		command_deinit(&command);
		expect_bad(messages[i], sizes[i] + 1);
	}
}

Test(protocol, bad_fields)
{
	/* Lengths of strings that reach beyond the message, or around the address space. */
	expect_bad(BYTES(0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 'a', 'b'));
	expect_bad(BYTES(0, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'a', 'b'));
	expect_bad(BYTES(5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 'a', 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	        0xff, 'b'));
	/* Not UTF-8; a NUL. */
	expect_bad(BYTES(0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 'a', 0xff));
	expect_bad(BYTES(0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0xc3, 'a'));
	expect_bad(BYTES(0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 'a', 0, 'b'));
	/* There are four kinds of markers. */
	expect_bad(BYTES(7, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0));
}

/* Any bytes: nothing but a command or a refusal. */
Test(protocol, any_bytes)
{
	uint32_t state = 12345;

	for (int round = 0; round < 200000; round++) {
		uint8_t data[40];
		struct command command;
		size_t n;
		int r;

		for (size_t i = 0; i < sizeof(data); i++) {
			state = state * 1664525 + 1013904223;
			data[i] = (state >> 28) < 9 ? 0 : (uint8_t)(state >> 20);
		}
		data[0] %= 12;
		n = state % sizeof(data);
		r = decode(&command, data, n);
		cr_assert(r == 0 || r == -EBADMSG);
		if (r == 0)
			command_deinit(&command);
	}
}
