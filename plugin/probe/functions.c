/* functions.c: symbol tables to probe sites. */
#include "probe/functions.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

/* How much of a function is decoded at most; also what is taken of one whose size is not stated. */
#define MAX_CODE      65536u
#define UNSTATED_SIZE 64u

static void cleanup_elf(Elf **elf)
{
	elf_end(*elf);
}

struct reader {
	int fd;
	Elf *elf;
	GElf_Ehdr header;
	struct found_functions found;
};

/* The executable PT_LOAD that holds an address. */
static bool find_segment(struct reader *reader, uint64_t svma, GElf_Phdr *ret_segment)
{
	size_t n = 0;

	if (elf_getphdrnum(reader->elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(reader->elf, i, ret_segment) && ret_segment->p_type == PT_LOAD &&
			(ret_segment->p_flags & PF_X) && svma >= ret_segment->p_vaddr &&
			svma - ret_segment->p_vaddr < ret_segment->p_filesz)
			return true;
	return false;
}

/* An allocator has a few dozen functions; a file with more names one of them again and again. */
#define MAX_FUNCTIONS 256
#define MAX_TABLE     (1u << 30) /* bytes of a symbol table */

static int add_function(struct reader *reader, const struct allocator_function *function, const GElf_Sym *symbol)
{
	struct found_functions *found = &reader->found;
	struct found_function entry = {.function = function, .svma = symbol->st_value};
	struct found_function *grown;
	CLEANUP_FREE uint8_t *code = malloc(MAX_CODE);
	GElf_Phdr segment;
	uint64_t offset, n_code;
	ssize_t n_read;

	if (!code)
		return -ENOMEM;
	if (found->n_functions == MAX_FUNCTIONS)
		return -EFBIG;
	if (!find_segment(reader, symbol->st_value, &segment))
		return 0;
	offset = symbol->st_value - segment.p_vaddr + segment.p_offset;
	n_code = symbol->st_size ? symbol->st_size : UNSTATED_SIZE;
	if (n_code > segment.p_filesz - (symbol->st_value - segment.p_vaddr))
		n_code = segment.p_filesz - (symbol->st_value - segment.p_vaddr);
	if (n_code > MAX_CODE)
		n_code = MAX_CODE;
	n_read = pread(reader->fd, code, n_code, offset);
	if (n_read <= 0)
		return 0;
	if (site_choose(code, n_read, symbol->st_value, function->n_arguments, &entry.site))
		return 0;
	entry.file_offset = offset + entry.site.offset;
	found->code = (struct found_segment){segment.p_vaddr, segment.p_offset, segment.p_filesz};
	for (size_t i = 0; i < found->n_functions; i++) {
		if (found->functions[i].svma != entry.svma)
			continue;
		if (function < found->functions[i].function)
			found->functions[i] = entry;
		return 0;
	}
	grown = reallocarray(found->functions, found->n_functions + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	found->functions = grown;
	found->functions[found->n_functions++] = entry;
	return 0;
}

/* Defined functions that other files can see: a program's own static `free` is no allocator. Where no other file comes
 * in, the linker of a static PIE makes all symbols local. */
static bool is_candidate(const struct reader *reader, const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info), bind = GELF_ST_BIND(symbol->st_info);

	return type == STT_FUNC && (bind != STB_LOCAL || reader->found.is_static) && symbol->st_shndx != SHN_UNDEF &&
		symbol->st_value;
}

static int read_table(struct reader *reader, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n;

	if (!data || header->sh_entsize != sizeof(Elf64_Sym))
		return 0;
	n = data->d_size / header->sh_entsize;
	if (n > 1) /* the first is empty */
		reader->found.has_symbols = true;
	for (size_t i = 0; i < n; i++) {
		const struct allocator_function *function;
		const char *name;
		GElf_Sym symbol;
		int r;

		if (!gelf_getsym(data, i, &symbol) || !is_candidate(reader, &symbol))
			continue;
		name = elf_strptr(reader->elf, header->sh_link, symbol.st_name);
		if (!name)
			continue;
		if (!strcmp(name, "__libc_start_main"))
			reader->found.is_c_library = true;
		function = allocator_function_find(name);
		if (!function)
			continue;
		r = add_function(reader, function, &symbol);
		if (r)
			return r;
	}
	return 0;
}

static int read_tables(struct reader *reader)
{
	Elf_Scn *section = NULL;
	int r;

	while ((section = elf_nextscn(reader->elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			continue;
		if ((header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) || header.sh_size > MAX_TABLE)
			continue;
		r = read_table(reader, section, &header);
		if (r)
			return r;
	}
	return 0;
}

/* An executable that no interpreter loads: what it calls is in it. A shared library without one is not meant. */
static bool has_no_interpreter(struct reader *reader)
{
	size_t n = 0;

	if (elf_getphdrnum(reader->elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(reader->elf, i, &segment) && segment.p_type == PT_INTERP)
			return false;
	}
	return true;
}

static bool has_soname(struct reader *reader)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(reader->elf, section))) {
		GElf_Shdr header;
		GElf_Dyn entry;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
			if (entry.d_tag == DT_SONAME)
				return true;
	}
	return false;
}

static int compare_address(const void *a, const void *b)
{
	const struct found_function *x = a, *y = b;

	return (x->svma > y->svma) - (x->svma < y->svma);
}

int found_functions_read(int fd, struct found_functions *ret_found)
{
	CLEANUP(cleanup_elf) Elf *elf = NULL;
	struct reader reader = {};
	int r;

	elf_version(EV_CURRENT);
	/* Not mapped: a file that somebody cuts short must not kill the runner. */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return -EIO;
	reader.fd = fd;
	reader.elf = elf;
	*ret_found = reader.found;
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &reader.header))
		return 0;
	reader.found.is_elf = true;
	reader.found.is_64_bit = gelf_getclass(elf) == ELFCLASS64 && reader.header.e_machine == MACHINE;
	if (reader.found.is_64_bit) {
		reader.found.is_static = reader.header.e_entry && has_no_interpreter(&reader);
		reader.found.is_shared_library = has_soname(&reader);
		r = read_tables(&reader);
		if (r) {
			found_functions_deinit(&reader.found);
			return r;
		}
	}
	if (reader.found.n_functions)
		qsort(reader.found.functions, reader.found.n_functions, sizeof(*reader.found.functions),
			compare_address);
	*ret_found = reader.found;
	return 0;
}

void found_functions_deinit(struct found_functions *found)
{
	free(found->functions);
	*found = (struct found_functions){};
}
