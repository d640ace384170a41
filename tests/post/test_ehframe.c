/* test_ehframe.c: unwind data are the bytes that binutils see, with and without section headers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "module/ehframe.h"
#include "support.h"
#include "util/cleanup.h"
#include "util/file.h"

static void find(const char *name, struct unwind_data *ret_data, int expected)
{
	struct module_elf module;
	const char *reason = NULL;
	int fd = open_fixture(name);

	cr_assert_eq(module_elf_init(&module, fd, &reason), 0, "%s: %s", name, reason);
	cr_assert_eq(ehframe_find(&module, ret_data, &reason), expected, "%s: %s", name, reason);
	cr_assert_eq(ret_data->base_svma, expected < 0 ? 0 : module.base_svma);
	module_elf_deinit(&module);
	close(fd);
}

/* What objcopy takes out of the file; the section's address by readelf. */
static void compare(
        const char *name, const char *section, const uint8_t *bytes, size_t n, uint64_t start, uint64_t end)
{
	struct folder folder = folder_new();
	CLEANUP_FREE char *text = NULL, *expected = NULL;
	size_t n_expected;
	int status;

	text = shell(&status,
	        "objcopy -O binary --only-section=%s %s %s/out && readelf -SW %s | sed 's/\\[ */[/' | "
	        "awk '$2 == \"%s\" {print $4}'",
	        section, fixture(name), folder.path, fixture(name), section);
	cr_assert_eq(status, 0, "%s", text);
	cr_assert_eq(file_read_whole(folder.fd, "out", 1 << 20, &expected, &n_expected), 0);
	cr_assert_eq(n, n_expected, "%s %s", name, section);
	cr_assert_arr_eq(bytes, expected, n);
	cr_assert_eq(start, strtoul(text, NULL, 16), "%s %s", name, section);
	cr_assert_eq(end, start + n);
	folder_remove(&folder);
}

static bool has_header(const char *name)
{
	int status;

	free(shell(&status, "readelf -SW %s | grep -q ' .eh_frame_hdr '", fixture(name)));
	return status == 0;
}

Test(ehframe, sections)
{
	static const char *const names[] = {
	        "pie", "nopie", "static", "static-pie", "shared.so", "lld", "lld.so", "stripped"};

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		struct unwind_data data = {0};

		find(names[i], &data, 0);
		compare(names[i], ".eh_frame", data.eh_frame, data.n_eh_frame, data.eh_frame_start,
		        data.eh_frame_end);
		cr_assert_eq(data.has_eh_frame_hdr, has_header(names[i]), "%s", names[i]);
		if (data.has_eh_frame_hdr)
			compare(names[i], ".eh_frame_hdr", data.eh_frame_hdr, data.n_eh_frame_hdr,
			        data.eh_frame_hdr_start, data.eh_frame_hdr_end);
		unwind_data_deinit(&data);
	}
}

Test(ehframe, no_header)
{
	struct unwind_data data = {0};

	find("nohdr", &data, 0);
	cr_assert(!data.has_eh_frame_hdr);
	compare("nohdr", ".eh_frame", data.eh_frame, data.n_eh_frame, data.eh_frame_start, data.eh_frame_end);
	unwind_data_deinit(&data);
}

/* Without section headers the same is found through the segment: the whole of both, up to the end mark. */
Test(ehframe, no_sections)
{
	static const char *const names[][2] = {
	        {"nosections-stripped", "stripped"}, {"nosections-lld", "lld"}};

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		struct unwind_data data = {0};

		find(names[i][0], &data, 0);
		compare(names[i][1], ".eh_frame", data.eh_frame, data.n_eh_frame, data.eh_frame_start,
		        data.eh_frame_end);
		compare(names[i][1], ".eh_frame_hdr", data.eh_frame_hdr, data.n_eh_frame_hdr,
		        data.eh_frame_hdr_start, data.eh_frame_hdr_end);
		unwind_data_deinit(&data);
	}
}

/* A debug file has the section's header and not its bytes. */
Test(ehframe, none)
{
	struct unwind_data data = {0};

	find("pie.debug", &data, -ENOENT);
}

Test(ehframe, header_encodings)
{
	const uint8_t pcrel[] = {1, 0x1b, 3, 0x3b, 0x10, 0, 0, 0},
	              negative[] = {1, 0x1b, 3, 0x3b, 0xf0, 0xff, 0xff, 0xff};
	const uint8_t datarel[] = {1, 0x33, 3, 0x3b, 0x10, 0, 0, 0},
	              absolute[] = {1, 0, 3, 0x3b, 8, 7, 6, 5, 4, 3, 2, 1};
	const uint8_t version[] = {2, 0x1b, 3, 0x3b, 0, 0, 0, 0}, omitted[] = {1, 0xff, 3, 0x3b, 0, 0, 0, 0};
	uint64_t svma = 0;

	cr_assert(ehframe_of_header(pcrel, sizeof(pcrel), 0x1000, &svma) && svma == 0x1014);
	cr_assert(ehframe_of_header(negative, sizeof(negative), 0x1000, &svma) && svma == 0xff4);
	cr_assert(ehframe_of_header(datarel, sizeof(datarel), 0x1000, &svma) && svma == 0x1010);
	cr_assert(ehframe_of_header(absolute, sizeof(absolute), 0x1000, &svma) && svma == 0x0102030405060708);
	cr_assert(!ehframe_of_header(absolute, sizeof(absolute) - 1, 0x1000, &svma));
	cr_assert(!ehframe_of_header(version, sizeof(version), 0x1000, &svma));
	cr_assert(!ehframe_of_header(omitted, sizeof(omitted), 0x1000, &svma));
	cr_assert(!ehframe_of_header(pcrel, 7, 0x1000, &svma));
}

Test(ehframe, lengths)
{
	const uint8_t two[] = {4, 0, 0, 0, 1, 2, 3, 4, 2, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 9};
	const uint8_t wide[] = {0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0};
	const uint8_t absurd[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};

	cr_assert_eq(ehframe_length(two, sizeof(two)), 18);
	cr_assert_eq(ehframe_length(two, 17), 14);
	cr_assert_eq(ehframe_length(two, 13), 8);
	cr_assert_eq(ehframe_length(wide, sizeof(wide)), sizeof(wide));
	cr_assert_eq(ehframe_length(absurd, sizeof(absurd)), 0);
	cr_assert_eq(ehframe_length(absurd, 0), 0);
}
