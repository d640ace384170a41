/* elf.c: what of an ELF file the loader and the unwinder go by. */
#include "module/elf.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_SIZE_MAX (UINT64_C(64) << 30) /* more is no program */

static pthread_once_t libelf_once = PTHREAD_ONCE_INIT;

static void start_libelf(void)
{
	elf_version(EV_CURRENT);
}

static int check_file(int fd, uint64_t *ret_size, const char **ret_reason)
{
	struct stat status;

	if (fstat(fd, &status) < 0) {
		*ret_reason = "the file cannot be examined";
		return -errno;
	}
	if (!S_ISREG(status.st_mode)) {
		*ret_reason = "not a regular file";
		return -ENOEXEC;
	}
	if ((uint64_t)status.st_size > FILE_SIZE_MAX) {
		*ret_reason = "the file is larger than 64 GiB";
		return -ENOEXEC;
	}
	*ret_size = (uint64_t)status.st_size;
	return 0;
}

static void add_segment(struct module_elf *module, const GElf_Phdr *header)
{
	if (module->n_segments == 0)
		module->base_svma = header->p_vaddr;
	module->segments[module->n_segments++] = (struct module_segment){
	        .offset = header->p_offset,
	        .file_size = header->p_filesz,
	        .svma = header->p_vaddr,
	        .memory_size = header->p_memsz,
	        .is_executable = header->p_flags & PF_X,
	};
}

static int read_segments(struct module_elf *module, const char **ret_reason)
{
	size_t n;

	if (elf_getphdrnum(module->elf, &n) < 0) {
		*ret_reason = elf_errmsg(-1);
		return -ENOEXEC;
	}
	/* A program header takes 32 bytes at least: the size of the file bounds the memory. */
	if (n > module->file_size / 32 || n == 0) {
		*ret_reason = "no program headers";
		return -ENOEXEC;
	}
	module->segments = calloc(n, sizeof(module->segments[0]));
	if (!module->segments) {
		*ret_reason = "out of memory";
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(module->elf, (int)i, &header))
			continue;
		if (header.p_type == PT_LOAD)
			add_segment(module, &header);
		if (header.p_type == PT_GNU_EH_FRAME) {
			module->has_eh_frame_hdr_segment = true;
			module->eh_frame_hdr_svma = header.p_vaddr;
			module->eh_frame_hdr_size = header.p_memsz;
		}
	}
	if (module->n_segments == 0) {
		*ret_reason = "no PT_LOAD segment";
		return -ENOEXEC;
	}
	return 0;
}

static void read_build_id(struct module_elf *module)
{
	const void *bytes;
	ssize_t n = dwelf_elf_gnu_build_id(module->elf, &bytes);

	if (n <= 0 || n > MODULE_BUILD_ID_MAX)
		return;
	memcpy(module->build_id, bytes, (size_t)n);
	module->n_build_id = (size_t)n;
}

int module_elf_init(struct module_elf *module, int fd, const char **ret_reason)
{
	int r;

	memset(module, 0, sizeof(*module));
	module->fd = fd;
	pthread_once(&libelf_once, start_libelf);
	r = check_file(fd, &module->file_size, ret_reason);
	if (r < 0)
		return r;
	module->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!module->elf) {
		*ret_reason = elf_errmsg(-1);
		return -ENOEXEC;
	}
	if (elf_kind(module->elf) != ELF_K_ELF) {
		*ret_reason = "not an ELF file";
		r = -ENOEXEC;
	} else {
		r = read_segments(module, ret_reason);
	}
	if (r < 0) {
		module_elf_deinit(module);
		return r;
	}
	read_build_id(module);
	return 0;
}

void module_elf_close(struct module_elf *module)
{
	if (module->elf)
		elf_end(module->elf);
	module->elf = NULL;
	module->fd = -1;
}

void module_elf_deinit(struct module_elf *module)
{
	module_elf_close(module);
	free(module->segments);
	module->segments = NULL;
	module->n_segments = 0;
}

bool module_elf_section(const struct module_elf *module, const char *name, struct module_section *ret_section)
{
	size_t names;
	Elf_Scn *section = NULL;

	if (elf_getshdrstrndx(module->elf, &names) < 0)
		return false;
	while ((section = elf_nextscn(module->elf, section))) {
		GElf_Shdr header;
		const char *own;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
		        header.sh_type == SHT_NULL)
			continue;
		own = elf_strptr(module->elf, names, header.sh_name);
		if (!own || strcmp(own, name) != 0)
			continue;
		*ret_section = (struct module_section){.section = section, .header = header};
		return true;
	}
	return false;
}

/* The kernel maps whole pages: a mapping shows more of the file than its segment has. */
static bool shows(const struct module_segment *segment, uint64_t page, uint64_t offset)
{
	uint64_t start = segment->offset & -page, end = segment->offset + segment->file_size;

	return end > segment->offset && offset >= start && offset < end;
}

bool module_elf_bias(
        const struct module_elf *module, uint64_t start, uint64_t offset, uint64_t length, uint64_t *ret_bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct module_segment *best = NULL;
	int best_rank = -1;

	for (size_t i = 0; i < module->n_segments; i++) {
		const struct module_segment *segment = &module->segments[i];
		int rank;

		if (!shows(segment, page, offset))
			continue;
		/* Two segments may share a page of the file: the executable one is meant, the one that starts
		 * here rather than one that only reaches here, and one that is as long as the mapping. */
		rank = 4 * segment->is_executable + 2 * ((segment->offset & -page) == offset) +
		       (segment->offset + segment->file_size > offset + length - (length ? page : 0));
		if (rank > best_rank) {
			best = segment;
			best_rank = rank;
		}
	}
	if (!best)
		return false;
	*ret_bias = start - (offset - best->offset + best->svma);
	return true;
}

bool module_elf_is_code(const struct module_elf *module, uint64_t svma, uint64_t size)
{
	for (size_t i = 0; i < module->n_segments; i++) {
		const struct module_segment *segment = &module->segments[i];

		if (segment->is_executable && svma >= segment->svma && size <= segment->memory_size &&
		        svma - segment->svma <= segment->memory_size - size)
			return true;
	}
	return false;
}

bool module_elf_offset(
        const struct module_elf *module, uint64_t svma, uint64_t *ret_offset, uint64_t *ret_available)
{
	for (size_t i = 0; i < module->n_segments; i++) {
		const struct module_segment *segment = &module->segments[i];
		uint64_t within = svma - segment->svma, offset;

		if (svma < segment->svma || within >= segment->file_size)
			continue;
		if (__builtin_add_overflow(segment->offset, within, &offset) || offset >= module->file_size)
			continue;
		*ret_offset = offset;
		*ret_available = segment->file_size - within;
		if (*ret_available > module->file_size - offset)
			*ret_available = module->file_size - offset;
		return true;
	}
	return false;
}
