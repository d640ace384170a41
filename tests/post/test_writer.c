/* test_writer.c: artifacts when the disk is full, and what is where after a flush. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "artifact/reader.h"
#include "artifact/writer.h"
#include "support.h"

static struct event numbered(uint64_t i)
{
	return (struct event){
	        .type = EVENT_MALLOC, .pid = 7, .tid = 8, .timestamp = i, .addr = i * 7919, .size = i * i};
}

/* Counts the events of the file, which must be those numbered from 0, and the whole file must be sound. */
static uint64_t count_events(int fd)
{
	struct artifact_reader *reader;
	struct event event;
	uint64_t n = 0;
	int r;

	rewind_fd(fd);
	cr_assert_eq(artifact_reader_new(fd, &reader), 0);
	while ((r = artifact_reader_next(reader, &event)) == ARTIFACT_EVENT)
		cr_assert_eq(event.timestamp, n++);
	cr_assert_eq(r, ARTIFACT_END, "%s", artifact_reader_reason(reader));
	artifact_reader_free(reader);
	return n;
}

/* Files must not grow beyond a limit: what was written stays sound, the rest is counted to the last event. */
Test(writer, full_disk)
{
	struct rlimit limit = {.rlim_cur = 300000, .rlim_max = RLIM_INFINITY};
	struct artifact_writer *writer;
	int fd = temporary_file();
	uint64_t n_in_file, n = 400000;
	int n_failed = 0;

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(artifact_writer_new(fd, -1, &writer), 0);
	for (uint64_t i = 0; i < n; i++) {
		struct event event = numbered(i);
		int r = artifact_writer_add(writer, &event);

		cr_assert(r == 0 ? n_failed == 0 : r == -EFBIG, "event %zu: %d", (size_t)i, r);
		n_failed += r < 0;
	}
	cr_assert_gt(n_failed, 0);
	cr_assert_eq(artifact_writer_flush(writer), -EFBIG);
	cr_assert_eq(artifact_writer_finish(writer), -EFBIG);
	n_in_file = count_events(fd);
	cr_assert_gt(n_in_file, 0);
	cr_assert_eq(n_in_file + artifact_writer_n_lost(writer), n);
	cr_assert_eq(lseek(fd, 0, SEEK_END), artifact_writer_n_bytes(writer));
	artifact_writer_free(writer);
	close(fd);
}

/* What was flushed is in the file as a whole frame, without finishing. */
Test(writer, flush_leaves_whole_frames)
{
	struct artifact_writer *writer;
	int fd = temporary_file();

	cr_assert_eq(artifact_writer_new(fd, -1, &writer), 0);
	for (uint64_t i = 0; i < 10; i++) {
		struct event event = numbered(i);

		cr_assert_eq(artifact_writer_add(writer, &event), 0);
		cr_assert_eq(artifact_writer_flush(writer), 0);
		cr_assert_eq(count_events(fd), i + 1);
	}
	artifact_writer_free(writer);
	close(fd);
}

Test(writer, no_event_is_an_empty_frame)
{
	struct artifact_writer *writer;
	int fd = temporary_file();

	cr_assert_eq(artifact_writer_new(fd, -1, &writer), 0);
	cr_assert_eq(artifact_writer_flush(writer), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_END), 0);
	cr_assert_eq(artifact_writer_finish(writer), 0);
	cr_assert_gt(lseek(fd, 0, SEEK_END), 0);
	cr_assert_eq(count_events(fd), 0);
	artifact_writer_free(writer);
	close(fd);
}

/* A bad descriptor loses everything, and says so. */
Test(writer, nowhere_to_write)
{
	struct artifact_writer *writer;
	struct event event = numbered(0);

	cr_assert_eq(artifact_writer_new(-1, -1, &writer), 0);
	cr_assert_eq(artifact_writer_add(writer, &event), 0);
	cr_assert_eq(artifact_writer_flush(writer), -EBADF);
	cr_assert_eq(artifact_writer_add(writer, &event), -EBADF);
	cr_assert_eq(artifact_writer_n_lost(writer), 2);
	cr_assert_eq(artifact_writer_n_bytes(writer), 0);
	artifact_writer_free(writer);
}
