/* test_elf.c: program headers, build-ids and load biases, against readelf, nm and the kernel. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "module/elf.h"
#include "support.h"
#include "util/cleanup.h"
#include "util/file.h"

static const char *const all[] = {"pie", "nopie", "static", "static-pie", "shared.so", "lld", "lld.so",
        "lld-nopie", "compressed", "nobuildid", "gc", "none", "stripped", "nosections-stripped",
        "nosections-lld", "linked"};

static void open_module(const char *name, struct module_elf *module)
{
	const char *reason = NULL;

	cr_assert_eq(module_elf_init(module, open_fixture(name), &reason), 0, "%s: %s", name, reason);
}

static void close_module(struct module_elf *module)
{
	int fd = module->fd;

	module_elf_deinit(module);
	close(fd);
}

/* Segments as readelf lists them. */
Test(elf, segments)
{
	for (size_t i = 0; i < N_ELEMENTS(all); i++) {
		struct module_elf module;
		size_t n = 0;
		int status, n_read;
		CLEANUP_FREE char *text = shell(&status,
		        "readelf -lW %s | awk '$1 == \"LOAD\" {print $2, $3, $5, $6, "
		        "/R.E 0x/ ? 1 : 0}'",
		        fixture(all[i]));

		open_module(all[i], &module);
		for (char *at = text; *at; at += n_read) {
			unsigned long offset, svma, file_size, memory_size;
			int is_executable;

			cr_assert_eq(sscanf(at, "%lx %lx %lx %lx %d\n%n", &offset, &svma, &file_size,
			                     &memory_size, &is_executable, &n_read),
			        5, "%s: %s", all[i], at);
			cr_assert_lt(n, module.n_segments);
			cr_assert_eq(module.segments[n].offset, offset);
			cr_assert_eq(module.segments[n].svma, svma);
			cr_assert_eq(module.segments[n].file_size, file_size);
			cr_assert_eq(module.segments[n].memory_size, memory_size);
			cr_assert_eq(
			        module.segments[n].is_executable, is_executable, "%s segment %zu", all[i], n);
			n++;
		}
		cr_assert_eq(n, module.n_segments);
		cr_assert_gt(n, 1);
		cr_assert_eq(module.base_svma, module.segments[0].svma);
		close_module(&module);
	}
}

/* Build-ids as readelf prints them; where there are no sections, from the segment. */
Test(elf, build_id)
{
	for (size_t i = 0; i < N_ELEMENTS(all); i++) {
		struct module_elf module;
		char hex[2 * MODULE_BUILD_ID_MAX + 1] = "";
		int status;
		CLEANUP_FREE char *text = shell(&status,
		        "readelf -n %s 2>&1 | awk '/Build ID:/ {printf \"%%s\", $3}'", fixture(all[i]));

		open_module(all[i], &module);
		for (size_t j = 0; j < module.n_build_id; j++)
			snprintf(hex + 2 * j, 3, "%02x", module.build_id[j]);
		cr_assert_str_eq(hex, text, "%s", all[i]);
		close_module(&module);
	}
}

/* Each program prints where its main is and how it is mapped: the bias of its executable mapping must lead
 * from main's symbol to main. The lld ones have file offsets and addresses that differ. */
Test(elf, bias_of_running_programs)
{
	static const char *const programs[] = {
	        "pie", "nopie", "static", "static-pie", "lld", "lld-nopie", "gc", "compressed"};

	for (size_t i = 0; i < N_ELEMENTS(programs); i++) {
		struct module_elf module;
		unsigned long main_avma, main_svma, start, end, offset;
		uint64_t bias;
		bool found = false;
		int status;
		CLEANUP_FREE char *symbol =
		        shell(&status, "nm %s | awk '$3 == \"main\" {print $1}'", fixture(programs[i]));
		CLEANUP_FREE char *text = shell(&status, "%s maps", fixture(programs[i]));

		open_module(programs[i], &module);
		main_svma = strtoul(symbol, NULL, 16);
		main_avma = strtoul(text, NULL, 16);
		cr_assert(main_svma && main_avma);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			if (sscanf(line, "%lx-%lx r-xp %lx", &start, &end, &offset) != 3 ||
			        main_avma < start || main_avma >= end)
				continue;
			cr_assert(module_elf_bias(&module, start, offset, end - start, &bias));
			cr_assert_eq(main_svma + bias, main_avma, "%s: bias %zx", programs[i], (size_t)bias);
			found = true;
		}
		cr_assert(found);
		close_module(&module);
	}
}

/* Two segments in one page of the file: the executable one is meant. A mapping of a later part of a segment,
 * and one of nothing. */
Test(elf, bias_of_odd_mappings)
{
	struct module_segment segments[] = {
	        {.offset = 0, .file_size = 0x94c, .svma = 0, .memory_size = 0x94c},
	        {.offset = 0x950,
	                .file_size = 0x5000,
	                .svma = 0x1950,
	                .memory_size = 0x5000,
	                .is_executable = true},
	        {.offset = 0x5950, .file_size = 0x100, .svma = 0x7950, .memory_size = 0x100},
	};
	struct module_elf module = {.segments = segments, .n_segments = N_ELEMENTS(segments)};
	uint64_t bias;

	cr_assert(module_elf_bias(&module, 0x10001000, 0, 0x6000, &bias));
	cr_assert_eq(bias, 0x10000000);
	cr_assert(module_elf_bias(&module, 0x10003000, 0x2000, 0x1000, &bias));
	cr_assert_eq(bias, 0x10000000);
	cr_assert(module_elf_bias(&module, 0x1000, 0, 0x6000, &bias));
	cr_assert_eq(bias, 0);
	cr_assert(module_elf_bias(&module, 0, 0, 0x6000, &bias));
	cr_assert_eq(bias, -UINT64_C(0x1000));
	cr_assert(!module_elf_bias(&module, 0x10001000, 0x6000, 0x1000, &bias));
	cr_assert(!module_elf_bias(&module, 0x10001000, UINT64_MAX - 0xfff, 0x1000, &bias));
}

Test(elf, code_and_offsets)
{
	struct module_segment segments[] = {
	        {.offset = 0x100,
	                .file_size = 0x10,
	                .svma = 0x1000,
	                .memory_size = 0x20,
	                .is_executable = true},
	        {.offset = UINT64_MAX - 4, .file_size = 0x100, .svma = 0x2000, .memory_size = 0x100},
	};
	struct module_elf module = {.segments = segments, .n_segments = 2, .file_size = 0x108};
	uint64_t offset, available;

	cr_assert(module_elf_is_code(&module, 0x1000, 0x20));
	cr_assert(!module_elf_is_code(&module, 0x1000, 0x21));
	cr_assert(!module_elf_is_code(&module, 0xfff, 1));
	cr_assert(!module_elf_is_code(&module, 0x1001, UINT64_MAX));
	cr_assert(!module_elf_is_code(&module, 0x2000, 1));
	cr_assert(module_elf_offset(&module, 0x1004, &offset, &available));
	cr_assert_eq(offset, 0x104);
	cr_assert_eq(available, 4);
	cr_assert(!module_elf_offset(&module, 0x1008, &offset, &available));
	cr_assert(!module_elf_offset(&module, 0x2005, &offset, &available));
}

/* Whatever is no usable ELF file is refused with a reason. */
Test(elf, not_elf)
{
	const char *reason = NULL;
	struct module_elf module;
	int fd = temporary_file(), pipes[2];

	cr_assert_eq(module_elf_init(&module, fd, &reason), -ENOEXEC);
	cr_assert_not_null(reason);
	cr_assert_eq(write(fd,
	                     "\x7f"
	                     "ELF",
	                     4),
	        4);
	cr_assert_eq(module_elf_init(&module, fd, &reason), -ENOEXEC);
	cr_assert_eq(module_elf_init(&module, -1, &reason), -EBADF);
	cr_assert_eq(pipe2(pipes, O_CLOEXEC), 0);
	cr_assert_eq(module_elf_init(&module, pipes[0], &reason), -ENOEXEC);
	cr_assert_eq(ftruncate(fd, (off_t)65 << 30), 0);
	cr_assert_eq(module_elf_init(&module, fd, &reason), -ENOEXEC);
	cr_assert_str_eq(reason, "the file is larger than 64 GiB");
	close(fd);
}
