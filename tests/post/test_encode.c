/* test_encode.c: events as bytes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "artifact/decode.h"
#include "artifact/encode.h"
#include "support.h"

/* The check value that the format's description gives. */
Test(encode, check_value)
{
	static const uint8_t expected[47] =
	        "\x86\xa3\x70\x69\x64\x01\xa3\x74\x69\x64\x0b\xa9\x74\x69\x6d\x65\x73\x74\x61\x6d\x70\x69\xa4"
	        "\x61\x64\x64\x72\x10\xa4\x74\x79\x70\x65\xa7\x52\x65\x61\x6c\x6c\x6f\x63\xa4\x73\x69\x7a\x65"
	        "\x2a";
	struct event event = {
	        .pid = 1, .tid = 11, .timestamp = 105, .addr = 16, .type = EVENT_REALLOC, .size = 42};
	msgpack_sbuffer buffer;

	msgpack_sbuffer_init(&buffer);
	cr_assert_eq(event_encode(&buffer, &event), 0);
	cr_assert_eq(buffer.size, sizeof(expected));
	cr_assert_arr_eq(buffer.data, expected, sizeof(expected));
	msgpack_sbuffer_destroy(&buffer);
}

/* Every type, with integers of every width, comes back as it was, and takes exactly its own bytes. */
Test(encode, round_trip)
{
	struct random random = {.state = 77};
	struct event_decoder decoder = {0};
	msgpack_sbuffer buffer;

	msgpack_sbuffer_init(&buffer);
	for (int i = 0; i < 20000; i++) {
		struct event event = random_event(&random), back;
		size_t n_used = 0;

		msgpack_sbuffer_clear(&buffer);
		cr_assert_eq(event_encode(&buffer, &event), 0);
		cr_assert_eq(event_decode(&decoder, (uint8_t *)buffer.data, buffer.size, &n_used, &back),
		        EVENT_DECODE_OK, "event %d of type %s", i, event_type_name(event.type));
		cr_assert_eq(n_used, buffer.size);
		cr_assert(event_equal(&event, &back), "event %d of type %s", i, event_type_name(event.type));
	}
	event_decoder_deinit(&decoder);
	msgpack_sbuffer_destroy(&buffer);
}

/* A type that does not exist is refused and leaves the buffer alone. */
Test(encode, no_such_type)
{
	struct event event = {.type = EVENT_N_TYPES};
	msgpack_sbuffer buffer;

	msgpack_sbuffer_init(&buffer);
	cr_assert_eq(event_encode(&buffer, &event), -EINVAL);
	cr_assert_eq(buffer.size, 0);
	msgpack_sbuffer_destroy(&buffer);
}
