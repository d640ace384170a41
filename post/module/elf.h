/* elf.h: what of an ELF file the loader and the unwinder go by. */
#ifndef POST_MODULE_ELF_H
#define POST_MODULE_ELF_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODULE_BUILD_ID_MAX 64 /* bytes; usual are 20 and 16 */

/* A PT_LOAD. */
struct module_segment {
	uint64_t offset; /* in the file */
	uint64_t file_size;
	uint64_t svma;
	uint64_t memory_size;
	bool is_executable;
};

struct module_elf {
	int fd; /* borrowed */
	Elf *elf;
	uint64_t file_size;
	struct module_segment *segments; /* in the order of the program headers */
	size_t n_segments;
	uint64_t base_svma;            /* of the first segment */
	bool has_eh_frame_hdr_segment; /* PT_GNU_EH_FRAME */
	uint64_t eh_frame_hdr_svma;
	uint64_t eh_frame_hdr_size;
	uint8_t build_id[MODULE_BUILD_ID_MAX];
	size_t n_build_id; /* 0: none */
};

/* A section by what it occupies. */
struct module_section {
	Elf_Scn *section;
	GElf_Shdr header;
};

/* Opens the file behind `fd`, which must stay open until module_elf_deinit. Everything is read, nothing
 * mapped: the file may be truncated under our hands. 0; -ENOEXEC with *ret_reason (a constant, or libelf's)
 * where it is no usable ELF file; or another negative errno, with a reason too. */
int module_elf_init(struct module_elf *module, int fd, const char **ret_reason);

/* Ends the use of the file; what of it was copied (segments, build-id) stays. */
void module_elf_close(struct module_elf *module);

void module_elf_deinit(struct module_elf *module);

/* The first section of that name that has contents in the file. False: there is none. */
bool module_elf_section(
        const struct module_elf *module, const char *name, struct module_section *ret_section);

/* The load bias (AVMA - SVMA) of a mapping of `length` bytes at `start`, which shows the file from `offset`
 * on. By the program headers only: sections may be missing, and offset and address differ by other than pages
 * in files by lld. False: no segment is mapped so. */
bool module_elf_bias(const struct module_elf *module, uint64_t start, uint64_t offset, uint64_t length,
        uint64_t *ret_bias);

/* Whether [svma, svma + size) lies in one executable segment. */
bool module_elf_is_code(const struct module_elf *module, uint64_t svma, uint64_t size);

/* Where the byte at an SVMA is in the file, and how many bytes of the file follow it within its segment (at
 * least one). False: the file has no such byte. */
bool module_elf_offset(
        const struct module_elf *module, uint64_t svma, uint64_t *ret_offset, uint64_t *ret_available);

#endif
