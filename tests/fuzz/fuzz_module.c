/* fuzz_module.c: any bytes as the file of a module. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "module/dwarf_lines.h"
#include "module/ehframe.h"
#include "module/symtab.h"
#include "util/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_lines(const struct module_elf *module)
{
	struct dwarf_image image;
	struct inlines *inlines;
	const char *reason;

	if (dwarf_image_init(&image, module->fd, "/nowhere", &reason) < 0)
		return;
	if (dwarf_lines_collect(&image, module, NULL, NULL, &inlines, &reason) == 0)
		inlines_free(inlines);
	dwarf_image_deinit(&image);
}

static void read_module(const struct module_elf *module)
{
	Elf *const files[] = {module->elf};
	struct unwind_data unwind_data;
	struct symbols symbols;
	const char *reason;
	uint64_t bias;

	if (ehframe_find(module, &unwind_data, &reason) == 0)
		unwind_data_deinit(&unwind_data);
	if (symtab_collect(files, 1, &symbols) == 0)
		symbols_deinit(&symbols);
	read_lines(module);
	module_elf_bias(module, 0x10000, 0x1000, 0x1000, &bias);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct module_elf module;
	const char *reason;

	if (fd < 0 || file_write_all(fd, data, n) < 0)
		abort();
	if (module_elf_init(&module, fd, &reason) == 0) {
		read_module(&module);
		module_elf_deinit(&module);
	}
	close(fd);
	return 0;
}
