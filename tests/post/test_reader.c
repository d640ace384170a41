/* test_reader.c: artifacts whole, cut, damaged and made by others. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/encode.h"
#include "artifact/reader.h"
#include "artifact/writer.h"
#include "support.h"
#include "util/cleanup.h"
#include "util/file.h"

/* Reads to the end: how many events there are, and how it ended. */
static int read_all(int fd, uint64_t *ret_n)
{
	struct artifact_reader *reader;
	struct event event;
	uint64_t n = 0;
	int r;

	rewind_fd(fd);
	cr_assert_eq(artifact_reader_new(fd, &reader), 0);
	while ((r = artifact_reader_next(reader, &event)) == ARTIFACT_EVENT)
		n++;
	cr_assert_eq(artifact_reader_next(reader, &event), r, "the answer changed");
	cr_assert_not_null(artifact_reader_reason(reader));
	artifact_reader_free(reader);
	*ret_n = n;
	return r;
}

/* 60 000 events over many frames come back one by one, in order. */
Test(reader, many_frames)
{
	struct random written = {.state = 12}, read = {.state = 12};
	int fd = temporary_file();
	struct artifact_writer *writer;
	struct artifact_reader *reader;
	struct event event;

	cr_assert_eq(artifact_writer_new(fd, -1, &writer), 0);
	for (int i = 0; i < 60000; i++) {
		event = random_event(&written);
		cr_assert_eq(artifact_writer_add(writer, &event), 0);
	}
	cr_assert_eq(artifact_writer_finish(writer), 0);
	cr_assert_gt(artifact_writer_n_bytes(writer), 4 << 20);
	cr_assert_eq(artifact_writer_n_lost(writer), 0);
	cr_assert_eq(artifact_writer_n_bytes(writer), lseek(fd, 0, SEEK_END));
	artifact_writer_free(writer);
	rewind_fd(fd);
	cr_assert_eq(artifact_reader_new(fd, &reader), 0);
	for (int i = 0; i < 60000; i++) {
		struct event expected = random_event(&read);

		cr_assert_eq(artifact_reader_next(reader, &event), ARTIFACT_EVENT, "event %d", i);
		cr_assert(event_equal(&event, &expected), "event %d", i);
	}
	cr_assert_eq(artifact_reader_next(reader, &event), ARTIFACT_END);
	artifact_reader_free(reader);
	close(fd);
}

/* Events one by one into frames of their own; ends[i] is the size of the file behind event i. */
static int small_artifact(off_t *ends, int n)
{
	struct random random = {.state = 99};
	int fd = temporary_file();
	struct artifact_writer *writer;

	cr_assert_eq(artifact_writer_new(fd, -1, &writer), 0);
	for (int i = 0; i < n; i++) {
		struct event event;

		do
			event = random_event(&random);
		while (event.stack.n_bytes > 100);
		cr_assert_eq(artifact_writer_add(writer, &event), 0);
		cr_assert_eq(artifact_writer_flush(writer), 0);
		ends[i] = lseek(fd, 0, SEEK_CUR);
	}
	cr_assert_eq(artifact_writer_finish(writer), 0);
	artifact_writer_free(writer);
	return fd;
}

/* A file cut at any byte gives all events that were whole, and says that it is cut unless the cut lies
 * between two frames, where nothing tells. */
Test(reader, cut_at_every_byte)
{
	off_t ends[12];
	int fd = small_artifact(ends, N_ELEMENTS(ends));
	uint64_t n_whole = N_ELEMENTS(ends), n;

	for (off_t size = ends[N_ELEMENTS(ends) - 1]; size >= 0; size--) {
		bool between = n_whole > 0 && size == ends[n_whole - 1];

		if (n_whole > 0 && size < ends[n_whole - 1]) {
			n_whole--;
			between = n_whole > 0 && size == ends[n_whole - 1];
		}
		cr_assert_eq(ftruncate(fd, size), 0);
		cr_assert_eq(
		        read_all(fd, &n), between ? ARTIFACT_END : ARTIFACT_CUT, "at %zd", (ssize_t)size);
		/* The event itself may already be whole where only the end of its frame is missing. */
		cr_assert(n == n_whole || n == n_whole + 1, "at %zd: %zu of %zu", (ssize_t)size, (size_t)n,
		        (size_t)n_whole);
	}
	close(fd);
}

/* The stream inside the frames may be cut as well. */
Test(reader, cut_inside_an_event)
{
	struct random random = {.state = 5};
	msgpack_sbuffer buffer;
	size_t first;
	uint64_t n;

	msgpack_sbuffer_init(&buffer);
	for (int i = 0; i < 40; i++) {
		struct event a = random_event(&random), b;

		msgpack_sbuffer_clear(&buffer);
		cr_assert_eq(event_encode(&buffer, &a), 0);
		first = buffer.size;
		b = random_event(&random);
		cr_assert_eq(event_encode(&buffer, &b), 0);
		for (size_t size = first; size < buffer.size; size += 1 + (size - first) / 50) {
			int fd = temporary_file();

			write_frame_of(fd, buffer.data, size);
			cr_assert_eq(read_all(fd, &n), size == first ? ARTIFACT_END : ARTIFACT_CUT);
			cr_assert_eq(n, 1);
			close(fd);
		}
	}
	msgpack_sbuffer_destroy(&buffer);
}

Test(reader, empty_frame_and_empty_file)
{
	int fd = temporary_file();
	uint64_t n;

	cr_assert_eq(read_all(fd, &n), ARTIFACT_CUT);
	write_frame_of(fd, "", 0);
	cr_assert_eq(read_all(fd, &n), ARTIFACT_END);
	cr_assert_eq(n, 0);
	close(fd);
}

/* A skippable frame, as zstd's own tools write them, is nothing. */
Test(reader, skippable_frames)
{
	static const uint8_t skippable[] = {0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3};
	static const char event[] = "\x85\xa3pid\x01\xa3tid\x01\xa9timestamp\x01\xa4"
	                            "addr\x01\xa4type\xa4"
	                            "Free";
	int fd = temporary_file();
	uint64_t n;

	cr_assert_eq(file_write_all(fd, skippable, sizeof(skippable)), 0);
	write_frame_of(fd, event, sizeof(event) - 1);
	cr_assert_eq(file_write_all(fd, skippable, sizeof(skippable)), 0);
	write_frame_of(fd, event, sizeof(event) - 1);
	cr_assert_eq(file_write_all(fd, skippable, sizeof(skippable)), 0);
	cr_assert_eq(read_all(fd, &n), ARTIFACT_END);
	cr_assert_eq(n, 2);
	close(fd);
}

/* One event that is written down as bytes: what the reader makes of it. Its pointers are not valid any more.
 */
static int read_one(const char *bytes, size_t n_bytes, struct event *ret_event, uint64_t *ret_unknown,
        uint64_t *ret_malformed)
{
	int fd = temporary_file();
	struct artifact_reader *reader;
	int r;

	write_frame_of(fd, bytes, n_bytes);
	rewind_fd(fd);
	cr_assert_eq(artifact_reader_new(fd, &reader), 0);
	r = artifact_reader_next(reader, ret_event);
	*ret_unknown = artifact_reader_n_unknown(reader);
	*ret_malformed = artifact_reader_n_malformed(reader);
	artifact_reader_free(reader);
	close(fd);
	return r;
}

#define READ_ONE(text) read_one(text, sizeof(text) - 1, &event, &n_unknown, &n_malformed)

/* Keys in any order, keys and values nobody knows, all widths of integers, signed ones too. */
Test(reader, foreign_encodings)
{
	struct event event;
	uint64_t n_unknown, n_malformed;

	cr_assert_eq(READ_ONE("\x89\xa4size\xd3\x00\x00\x00\x00\x00\x00\x01\x00\xa4type\xd9\x06Malloc"
	                      "\x01\x93\xc0\x81\xc3\xca\x00\x00\x00\x00\xd8\x01"
	                      "0123456789abcdef"
	                      "\xa5other\xc7\x02\x01\xff\xff"
	                      "\xa4"
	                      "addr\xce\x00\x00\x00\x07\xa9timestamp\xcf\x00\x00\x00\x00\x00\x00\x00\x08"
	                      "\xa3pid\xd2\x00\x00\x00\x02\xda\x00\x03tid\xcc\x03\xaastack_hash\xd1\x7f\xff"),
	        ARTIFACT_EVENT);
	cr_assert_eq(event.type, EVENT_MALLOC);
	cr_assert_eq(event.size, 256);
	cr_assert_eq(event.addr, 7);
	cr_assert_eq(event.timestamp, 8);
	cr_assert_eq(event.pid, 2);
	cr_assert_eq(event.tid, 3);
	cr_assert_eq(event.stack_hash, 0x7fff);
}

/* The other name of a definition. */
Test(reader, stack_is_a_definition)
{
	struct event definition = {.type = EVENT_STACK_DEFINITION,
	        .pid = 3,
	        .stack = {.hash = 7, .bytes = (uint8_t *)"abc", .n_bytes = 3}};
	struct event event;
	msgpack_sbuffer buffer;
	uint64_t n_unknown, n_malformed;
	char *name;

	msgpack_sbuffer_init(&buffer);
	cr_assert_eq(event_encode(&buffer, &definition), 0);
	name = memmem(buffer.data, buffer.size, "\xafStackDefinition", 16);
	cr_assert_not_null(name);
	memcpy(name, "\xa5Stack", 6);
	memmove(name + 6, name + 16, (size_t)(buffer.data + buffer.size - (name + 16)));
	cr_assert_eq(
	        read_one(buffer.data, buffer.size - 10, &event, &n_unknown, &n_malformed), ARTIFACT_EVENT);
	cr_assert_eq(event.type, EVENT_STACK_DEFINITION);
	cr_assert_eq(event.stack.hash, 7);
	cr_assert_eq(event.stack.n_bytes, 3);
	msgpack_sbuffer_destroy(&buffer);
}

#define HEAD                                                                                                 \
	"\xa3pid\x01\xa3tid\x01\xa9timestamp\x01\xa4"                                                        \
	"addr\x01\xa4type"

/* Wrong types, ranges and missing fields: skipped and counted, and the reader goes on. */
Test(reader, malformed_events)
{
	struct event event;
	uint64_t n_unknown, n_malformed;

	cr_assert_eq(READ_ONE("\x86" HEAD "\xa6Malloc\xa4size\xff"), ARTIFACT_END); /* negative */
	cr_assert_eq(n_malformed, 1);
	cr_assert_eq(READ_ONE("\x86" HEAD "\xa6Malloc\xa4size\xd0\x80"), ARTIFACT_END);
	cr_assert_eq(n_malformed, 1);
	cr_assert_eq(
	        READ_ONE("\x86" HEAD "\xa6Malloc\xa4size\xd3\xff\xff\xff\xff\xff\xff\xff\xff"), ARTIFACT_END);
	cr_assert_eq(n_malformed, 1);
	cr_assert_eq(READ_ONE("\x86" HEAD "\xa6Malloc\xa4size\xa1x"), ARTIFACT_END);
	cr_assert_eq(n_malformed, 1);
	cr_assert_eq(READ_ONE("\x85" HEAD "\xa6Malloc"), ARTIFACT_END);
	cr_assert_eq(n_malformed, 1);
	cr_assert_eq(READ_ONE("\x80"), ARTIFACT_END);
	cr_assert_eq(n_malformed, 1);
	cr_assert_eq(READ_ONE("\x85" HEAD "\x01"), ARTIFACT_END);
	cr_assert_eq(n_malformed, 1);
	cr_assert_eq(
	        READ_ONE("\x86\xa3pid\xcf\x00\x00\x00\x01\x00\x00\x00\x00\xa3tid\x01\xa9timestamp\x01\xa4"
	                 "addr\x01\xa4type\xa4"
	                 "Free\xa4size\x01"),
	        ARTIFACT_END);
	cr_assert_eq(n_malformed, 1);
	/* A field that the type does not have may be anything, and events of other types are not ours to
	 * judge. */
	cr_assert_eq(READ_ONE("\x86" HEAD "\xa4"
	                      "Free\xa4size\xa1x"),
	        ARTIFACT_EVENT);
	cr_assert_eq(event.size, 0);
	cr_assert_eq(READ_ONE("\x86" HEAD "\xa6Sample\xa4size\xa1x"), ARTIFACT_END);
	cr_assert_eq(n_malformed, 0);
	cr_assert_eq(n_unknown, 1);
	/* Of a key that comes twice the last one counts. */
	cr_assert_eq(READ_ONE("\x87" HEAD "\xa6Malloc\xa4size\xa1x\xa4size\x05"), ARTIFACT_EVENT);
	cr_assert_eq(event.size, 5);
}

/* Without `entered`, an old block ends when the call returns; without an old block, it means nothing. */
Test(reader, entered)
{
	struct event event;
	uint64_t n_unknown, n_malformed;

	cr_assert_eq(READ_ONE("\x87" HEAD "\xa7Realloc\xa4size\x01\xa8old_addr\x09"), ARTIFACT_EVENT);
	cr_assert_eq(event.entered, 1);
	cr_assert_eq(READ_ONE("\x87" HEAD "\xa7Realloc\xa4size\x01\xa7"
	                      "entered\x09"),
	        ARTIFACT_EVENT);
	cr_assert_eq(event.entered, 0);
}

/* What is no map, or claims more than any event has, ends the reading in bounded time and memory. */
Test(reader, no_stream_of_maps)
{
	struct event event;
	uint64_t n_unknown, n_malformed;

	cr_assert_eq(READ_ONE("\x01"), ARTIFACT_CORRUPT);
	cr_assert_eq(READ_ONE("\xc1"), ARTIFACT_CORRUPT);
	cr_assert_eq(READ_ONE("\x81\xa1x\xc1"), ARTIFACT_CORRUPT);
	cr_assert_eq(READ_ONE("\x81\xa1x\xdd\xff\xff\xff\xff"), ARTIFACT_CUT);
	cr_assert_eq(READ_ONE("\xdf\xff\xff\xff\xff\x01\x01"), ARTIFACT_CUT);
	cr_assert_eq(READ_ONE("\x81\xa8"
	                      "fp_chain\xdd\xff\xff\xff\xff\x01"),
	        ARTIFACT_CUT);
}

/* An event that is larger than any is refused; one of 50 MB is read. */
Test(reader, giant_events)
{
	static const char head[] = "\x86" HEAD "\xa4"
	                           "Free\xa1x\xc6";
	size_t n_head = sizeof(head) - 1, n_most = 70u << 20;
	CLEANUP_FREE char *bytes = calloc(1, n_head + 4 + n_most);
	struct event event;
	uint64_t n_unknown, n_malformed;

	memcpy(bytes, head, n_head);
	for (uint32_t n_mib = 50; n_mib <= 70; n_mib += 20) {
		uint32_t n = htonl(n_mib << 20);

		memcpy(bytes + n_head, &n, sizeof(n));
		cr_assert_eq(read_one(bytes, n_head + 4 + (n_mib << 20), &event, &n_unknown, &n_malformed),
		        n_mib == 50 ? ARTIFACT_EVENT : ARTIFACT_CORRUPT);
	}
}

/* Damage anywhere: events before it come out, and nothing crashes or hangs. */
Test(reader, random_damage)
{
	off_t ends[40];
	int fd = small_artifact(ends, N_ELEMENTS(ends));
	size_t n_bytes = (size_t)ends[N_ELEMENTS(ends) - 1];
	CLEANUP_FREE uint8_t *bytes = malloc(n_bytes);
	struct random random = {.state = 2024};
	uint64_t n;

	rewind_fd(fd);
	cr_assert_eq(file_read_up_to(fd, bytes, n_bytes), n_bytes);
	for (int i = 0; i < 3000; i++) {
		int damaged = temporary_file();
		size_t at = random_below(&random, n_bytes);
		uint64_t n_before = 0;

		while (n_before < N_ELEMENTS(ends) && (size_t)ends[n_before] <= at)
			n_before++;
		bytes[at] ^= (uint8_t)(1u << (i & 7));
		cr_assert_eq(file_write_all(damaged, bytes, n_bytes), 0);
		bytes[at] ^= (uint8_t)(1u << (i & 7));
		cr_assert_geq(read_all(damaged, &n), 0);
		cr_assert_geq(n, n_before, "damage at %zu", at);
		close(damaged);
	}
	close(fd);
}

/* Random bytes, and random MessagePack inside a good frame. */
Test(reader, random_garbage)
{
	struct random random = {.state = 77};
	uint8_t bytes[512];
	uint64_t n;

	for (int i = 0; i < 6000; i++) {
		int fd = temporary_file();
		size_t n_bytes = random_below(&random, sizeof(bytes));

		for (size_t j = 0; j < n_bytes; j++)
			bytes[j] = (uint8_t)random_next(&random);
		if (n_bytes > 0 && i % 2)
			bytes[0] = 0x8f; /* a map at least */
		if (i % 4)
			write_frame_of(fd, bytes, n_bytes);
		else
			cr_assert_eq(file_write_all(fd, bytes, n_bytes), 0);
		cr_assert_geq(read_all(fd, &n), 0);
		close(fd);
	}
}

Test(reader, unreadable_file)
{
	struct artifact_reader *reader;
	struct event event;

	cr_assert_eq(artifact_reader_new(-1, &reader), 0);
	cr_assert_eq(artifact_reader_next(reader, &event), -EBADF);
	cr_assert_eq(artifact_reader_next(reader, &event), -EBADF);
	artifact_reader_free(reader);
}
