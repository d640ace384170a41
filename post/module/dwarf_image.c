/* dwarf_image.c: a file with DWARF, as libdw may read it. */
#include "module/dwarf_image.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/file.h"

#define FILE_MAX     (UINT64_C(8) << 30)
#define PADDING      65536 /* zeros behind the file */
#define BUILD_ID_MAX 64

bool dwarf_image_is_in(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0))
			return true;
	}
	return false;
}

static int read_file(struct dwarf_image *image, int fd, const char **ret_reason)
{
	struct stat status;
	void *memory;

	*ret_reason = "the file cannot be read";
	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EBADMSG;
	*ret_reason = "the file is larger than 8 GiB";
	if ((uint64_t)status.st_size > FILE_MAX)
		return -EFBIG;
	*ret_reason = "out of memory";
	image->n_memory = (size_t)status.st_size + PADDING;
	memory = mmap(NULL, image->n_memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	image->memory = memory;
	*ret_reason = "the file cannot be read";
	return file_read_at(fd, image->memory, (size_t)status.st_size, 0);
}

/* Sections of DWARF that nobody reads here. The larger of them say where variables are. */
static bool is_unused(const char *name)
{
	static const char *const unused[] = {"loc", "loclists", "aranges", "macro", "macinfo", "pubnames",
	        "pubtypes", "gnu_pubnames", "gnu_pubtypes"};
	size_t n_prefix = strncmp(name, ".zdebug_", 8) == 0 ? 8 : strncmp(name, ".debug_", 7) == 0 ? 7 : 0;

	for (size_t i = 0; n_prefix > 0 && i < N_ELEMENTS(unused); i++)
		if (strcmp(name + n_prefix, unused[i]) == 0)
			return true;
	return false;
}

/* libdw decompresses all sections that it knows when it begins, but for those that have no contents. */
static void hide_unused(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || !is_unused(name))
			continue;
		header.sh_type = SHT_NOBITS;
		gelf_update_shdr(section, &header); /* as well as it goes */
	}
}

static int open_image(struct dwarf_image *image, int fd, const char **ret_reason)
{
	int r = read_file(image, fd, ret_reason);

	if (r < 0)
		return r;
	*ret_reason = "not an ELF file";
	image->elf = elf_memory(image->memory, image->n_memory - PADDING);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF)
		return -EBADMSG;
	*ret_reason = "no debug information";
	if (!dwarf_image_is_in(image->elf))
		return -ENOENT;
	hide_unused(image->elf);
	return 0;
}

static int open_below_build_id(const char *folder, const uint8_t *id, size_t n)
{
	char path[PATH_MAX];
	int at = snprintf(path, sizeof(path), "%s/.build-id/%02x/", folder, id[0]);

	for (size_t i = 1; i < n && at > 0 && (size_t)at < sizeof(path); i++)
		at += snprintf(path + at, sizeof(path) - (size_t)at, "%02x", id[i]);
	if (at < 0 || (size_t)at + sizeof(".debug") > sizeof(path))
		return -1;
	strcpy(path + at, ".debug");
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* A path that is not absolute starts at the folder of the file that has the link. */
static int open_beside(int fd, const char *name)
{
	char link[64], path[PATH_MAX];
	CLEANUP_CLOSE int folder = -1;
	ssize_t n;
	char *slash;

	if (name[0] == '/')
		return open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return -1;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash || path[0] != '/')
		return -1;
	slash[1] = '\0';
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return folder < 0 ? -1 : openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static struct dwarf_image *free_image(struct dwarf_image *image)
{
	if (image) {
		dwarf_image_deinit(image);
		free(image);
	}
	return NULL;
}

/* Takes the file as the alternative one, if its build-id is the expected one. */
static int use_alternative(struct dwarf_image *image, int fd, const void *id, size_t n_id)
{
	struct dwarf_image *alternative = calloc(1, sizeof(*alternative));
	const char *reason;
	const void *own_id;
	int r = alternative ? open_image(alternative, fd, &reason) : -ENOMEM;

	if (r >= 0 && (dwelf_elf_gnu_build_id(alternative->elf, &own_id) != (ssize_t)n_id ||
	                      memcmp(own_id, id, n_id) != 0))
		r = -ENOENT;
	if (r >= 0) {
		image->alternative = dwarf_begin_elf(alternative->elf, DWARF_C_READ, NULL);
		if (!image->alternative)
			r = -ENOENT;
	}
	if (r < 0) {
		free_image(alternative);
		return r;
	}
	image->alternative_image = alternative;
	return 0;
}

/* Without the alternative file some names are missing, no more. */
static int find_alternative(struct dwarf_image *image, int fd, const char *debug_folder)
{
	Dwarf *dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	CLEANUP_CLOSE int by_id = -1, by_path = -1;
	const char *name;
	const void *id;
	ssize_t n_id = dwarf ? dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) : 0;
	int r = -ENOENT;

	if (n_id >= 2 && n_id <= BUILD_ID_MAX) {
		by_id = open_below_build_id(debug_folder, id, (size_t)n_id);
		if (by_id >= 0)
			r = use_alternative(image, by_id, id, (size_t)n_id);
		if (r == -ENOENT)
			by_path = open_beside(fd, name);
		if (by_path >= 0)
			r = use_alternative(image, by_path, id, (size_t)n_id);
	}
	dwarf_end(dwarf);
	return r == -ENOMEM ? r : 0;
}

int dwarf_image_init(struct dwarf_image *image, int fd, const char *debug_folder, const char **ret_reason)
{
	struct dwarf_image new = {0};
	int r = open_image(&new, fd, ret_reason);

	if (r >= 0)
		r = find_alternative(&new, fd, debug_folder);
	if (r < 0) {
		dwarf_image_deinit(&new);
		return r;
	}
	*image = new;
	return 0;
}

void dwarf_image_deinit(struct dwarf_image *image)
{
	if (image->alternative)
		dwarf_end(image->alternative);
	free_image(image->alternative_image);
	if (image->elf)
		elf_end(image->elf);
	if (image->memory)
		munmap(image->memory, image->n_memory);
	*image = (struct dwarf_image){0};
}
