/* unwind_data.c: the file <key>.unwind_data of a profile. */
#include "module/unwind_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/file.h"

#define VARIANT  3 /* version 4 of the format */
#define FILE_MAX ((size_t)2 << 30)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they are");

/* What is not read yet of a file; `bad` once something was not there. */
struct input {
	const uint8_t *at;
	size_t n_left;
	bool bad;
};

static void take(struct input *input, void *ret_value, size_t n)
{
	if (input->bad || input->n_left < n) {
		input->bad = true;
		memset(ret_value, 0, n);
		return;
	}
	memcpy(ret_value, input->at, n);
	input->at += n;
	input->n_left -= n;
}

static uint64_t take_u64(struct input *input)
{
	uint64_t value;

	take(input, &value, sizeof(value));
	return value;
}

static bool take_flag(struct input *input)
{
	uint8_t value;

	take(input, &value, sizeof(value));
	if (value > 1)
		input->bad = true;
	return value == 1;
}

static const uint8_t *take_bytes(struct input *input, size_t *ret_n)
{
	uint64_t n = take_u64(input);
	const uint8_t *bytes = input->at;

	if (n > input->n_left)
		input->bad = true;
	if (input->bad)
		n = 0;
	input->at += n;
	input->n_left -= n;
	*ret_n = n;
	return bytes;
}

int unwind_data_parse(const uint8_t *bytes, size_t n, struct unwind_data *ret_data)
{
	struct input input = {.at = bytes, .n_left = n};
	struct unwind_data data = {0};
	uint32_t variant;

	take(&input, &variant, sizeof(variant));
	data.path = (const char *)take_bytes(&input, &data.n_path);
	data.base_svma = take_u64(&input);
	data.has_eh_frame_hdr = take_flag(&input);
	if (data.has_eh_frame_hdr)
		data.eh_frame_hdr = take_bytes(&input, &data.n_eh_frame_hdr);
	if (take_flag(&input) != data.has_eh_frame_hdr)
		return -EBADMSG;
	if (data.has_eh_frame_hdr) {
		data.eh_frame_hdr_start = take_u64(&input);
		data.eh_frame_hdr_end = take_u64(&input);
	}
	data.eh_frame = take_bytes(&input, &data.n_eh_frame);
	data.eh_frame_start = take_u64(&input);
	data.eh_frame_end = take_u64(&input);
	if (input.bad || input.n_left > 0 || variant != VARIANT)
		return -EBADMSG;
	*ret_data = data;
	return 0;
}

int unwind_data_read(int folder_fd, const char *name, struct unwind_data *ret_data)
{
	CLEANUP_FREE char *bytes = NULL;
	size_t n;
	int r = file_read_whole(folder_fd, name, FILE_MAX, &bytes, &n);

	if (r < 0)
		return r;
	r = unwind_data_parse((uint8_t *)bytes, n, ret_data);
	if (r < 0)
		return r;
	ret_data->memory = STEAL_PTR(bytes);
	return 0;
}

static void put(FILE *file, const void *bytes, size_t n)
{
	if (n > 0)
		fwrite(bytes, 1, n, file);
}

static void put_u64(FILE *file, uint64_t value)
{
	put(file, &value, sizeof(value));
}

static void put_flag(FILE *file, bool value)
{
	putc(value, file);
}

static void put_bytes(FILE *file, const void *bytes, size_t n)
{
	put_u64(file, n);
	put(file, bytes, n);
}

int unwind_data_write(int fd, const struct unwind_data *data)
{
	const uint32_t variant = VARIANT;
	FILE *file = file_stream(fd);

	if (!file)
		return -errno;
	put(file, &variant, sizeof(variant));
	put_bytes(file, data->path, data->n_path);
	put_u64(file, data->base_svma);
	put_flag(file, data->has_eh_frame_hdr);
	if (data->has_eh_frame_hdr)
		put_bytes(file, data->eh_frame_hdr, data->n_eh_frame_hdr);
	put_flag(file, data->has_eh_frame_hdr);
	if (data->has_eh_frame_hdr) {
		put_u64(file, data->eh_frame_hdr_start);
		put_u64(file, data->eh_frame_hdr_end);
	}
	put_bytes(file, data->eh_frame, data->n_eh_frame);
	put_u64(file, data->eh_frame_start);
	put_u64(file, data->eh_frame_end);
	return file_stream_close(file);
}

void unwind_data_deinit(struct unwind_data *data)
{
	free(data->memory);
	*data = (struct unwind_data){0};
}
