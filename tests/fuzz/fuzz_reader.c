/* fuzz_reader.c: any bytes as an artifact: as its file, and as what is inside its frames. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "artifact/decode.h"
#include "artifact/reader.h"
#include "util/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_as_file(const uint8_t *data, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct artifact_reader *reader;
	struct event event;

	if (fd < 0 || file_write_all(fd, data, n) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	        artifact_reader_new(fd, &reader) < 0)
		abort();
	while (artifact_reader_next(reader, &event) == ARTIFACT_EVENT)
		;
	artifact_reader_free(reader);
	close(fd);
}

/* Touches all that an event refers to. */
static uint8_t touch(const struct event *event)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < event->stack.n_bytes; i++)
		sum ^= event->stack.bytes[i];
	for (size_t i = 0; i < event->stack.n_fp_chain; i++)
		sum ^= (uint8_t)event->stack.fp_chain[i];
	for (size_t i = 0; i < event->mapping.n_path; i++)
		sum ^= (uint8_t)event->mapping.path[i];
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct event_decoder decoder = {0};
	volatile uint8_t sum = 0;
	size_t at = 0, n_used = 0;
	struct event event;
	int r;

	read_as_file(data, n);
	do {
		r = event_decode(&decoder, data + at, n - at, &n_used, &event);
		if (r == EVENT_DECODE_OK)
			sum ^= touch(&event);
		if (r == EVENT_DECODE_OK || r == EVENT_DECODE_UNKNOWN || r == EVENT_DECODE_MALFORMED) {
			if (n_used == 0 || n_used > n - at)
				abort();
			at += n_used;
		}
	} while (r != EVENT_DECODE_MORE && r != EVENT_DECODE_BAD);
	event_decoder_deinit(&decoder);
	return 0;
}
