/* test_unwind_data.c: the file, byte by byte. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "module/unwind_data.h"
#include "support.h"
#include "util/cleanup.h"
#include "util/file.h"

static size_t written(const struct unwind_data *data, uint8_t *ret_bytes, size_t n)
{
	int fd = temporary_file();
	ssize_t n_read;

	cr_assert_eq(unwind_data_write(fd, data), 0);
	rewind_fd(fd);
	n_read = file_read_up_to(fd, ret_bytes, n);
	cr_assert_lt(n_read, n);
	close(fd);
	return (size_t)n_read;
}

/* The check value that the format's description gives. */
Test(unwind_data, check_value)
{
	static const uint8_t expected[62] =
	        "\x03\x00\x00\x00\x0c\x00\x00\x00\x00\x00\x00\x00/lib/test.so"
	        "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00"
	        "\x05\x06\x07\x08\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00";
	static const uint8_t frame[] = {5, 6, 7, 8};
	struct unwind_data data = {.path = "/lib/test.so",
	                           .n_path = 12,
	                           .eh_frame = frame,
	                           .n_eh_frame = 4,
	                           .eh_frame_start = 0x200,
	                           .eh_frame_end = 0x300},
	                   back;
	uint8_t bytes[100];

	cr_assert_eq(written(&data, bytes, sizeof(bytes)), sizeof(expected));
	cr_assert_arr_eq(bytes, expected, sizeof(expected));
	cr_assert_eq(unwind_data_parse(expected, sizeof(expected), &back), 0);
	cr_assert_eq(back.eh_frame_end, 0x300);
}

static struct unwind_data sample(void)
{
	static const uint8_t frame[] = "the frames", header[] = "the header";

	return (struct unwind_data){
	        .path = "/lib/x.so",
	        .n_path = 9,
	        .base_svma = 0x123456789abcdef0,
	        .has_eh_frame_hdr = true,
	        .eh_frame_hdr = header,
	        .n_eh_frame_hdr = sizeof(header),
	        .eh_frame_hdr_start = 0x1000,
	        .eh_frame_hdr_end = 0x1000 + sizeof(header),
	        .eh_frame = frame,
	        .n_eh_frame = sizeof(frame),
	        .eh_frame_start = 0x2000,
	        .eh_frame_end = 0x2000 + sizeof(frame),
	};
}

Test(unwind_data, round_trip)
{
	struct folder folder = folder_new();
	struct unwind_data data = sample(), back;
	int fd = file_create(folder.fd, "x", geteuid(), getegid());

	cr_assert_geq(fd, 0);
	cr_assert_eq(unwind_data_write(fd, &data), 0);
	close(fd);
	cr_assert_eq(unwind_data_read(folder.fd, "x", &back), 0);
	cr_assert_eq(back.n_path, 9);
	cr_assert_arr_eq(back.path, data.path, 9);
	cr_assert_eq(back.base_svma, data.base_svma);
	cr_assert(back.has_eh_frame_hdr);
	cr_assert_eq(back.n_eh_frame_hdr, data.n_eh_frame_hdr);
	cr_assert_arr_eq(back.eh_frame_hdr, data.eh_frame_hdr, data.n_eh_frame_hdr);
	cr_assert_eq(back.eh_frame_hdr_start, data.eh_frame_hdr_start);
	cr_assert_eq(back.eh_frame_hdr_end, data.eh_frame_hdr_end);
	cr_assert_eq(back.n_eh_frame, data.n_eh_frame);
	cr_assert_arr_eq(back.eh_frame, data.eh_frame, data.n_eh_frame);
	cr_assert_eq(back.eh_frame_start, data.eh_frame_start);
	cr_assert_eq(back.eh_frame_end, data.eh_frame_end);
	unwind_data_deinit(&back);
	cr_assert_eq(unwind_data_read(folder.fd, "y", &back), -ENOENT);
	folder_remove(&folder);
}

/* Cut anywhere, or with anything behind: refused. Damaged anywhere: refused, or its pieces lie within. */
Test(unwind_data, cut_and_damaged)
{
	struct unwind_data data = sample(), back;
	uint8_t bytes[200];
	size_t n = written(&data, bytes, sizeof(bytes));

	for (size_t i = 0; i < n; i++) {
		CLEANUP_FREE uint8_t *copy =
		        malloc(i + 1); /* its own memory, so that a sanitizer sees every step outside */

		memcpy(copy, bytes, i);
		cr_assert_eq(unwind_data_parse(copy, i, &back), -EBADMSG, "cut at %zu", i);
	}
	cr_assert_eq(unwind_data_parse(bytes, n + 1, &back), -EBADMSG);
	for (size_t bit = 0; bit < 8 * n; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (unwind_data_parse(bytes, n, &back) == 0) {
			cr_assert(back.eh_frame >= bytes && back.eh_frame + back.n_eh_frame <= bytes + n);
			cr_assert(!back.has_eh_frame_hdr ||
			          (back.eh_frame_hdr >= bytes &&
			                  back.eh_frame_hdr + back.n_eh_frame_hdr <= bytes + n));
		}
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

Test(unwind_data, nowhere_to_write)
{
	struct unwind_data data = sample();

	cr_assert_eq(unwind_data_write(-1, &data), -EBADF);
}
