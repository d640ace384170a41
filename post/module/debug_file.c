/* debug_file.c: the separate file with a module's debug information. */
#include "module/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "util/cleanup.h"
#include "util/file.h"

#define CHUNK_BYTES (256u << 10)
#define FILE_MAX    ((off_t)8 << 30)

/* Opens a regular file of sane size that is not the module itself. */
static int open_other(const struct module_elf *module, const char *path)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat other, own;

	if (fd < 0 || fstat(fd, &other) < 0 || fstat(module->fd, &own) < 0)
		return -errno;
	if (!S_ISREG(other.st_mode) || other.st_size > FILE_MAX ||
	        (other.st_dev == own.st_dev && other.st_ino == own.st_ino))
		return -ENOENT;
	return steal_fd(&fd);
}

static bool has_build_id(Elf *elf, const struct module_elf *module)
{
	const void *bytes;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &bytes);

	return n > 0 && (size_t)n == module->n_build_id && memcmp(bytes, module->build_id, (size_t)n) == 0;
}

static int open_elf(int fd, struct debug_file *ret_file)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);

	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return -ENOENT;
	}
	*ret_file = (struct debug_file){.fd = fd, .elf = elf};
	return 0;
}

static int find_by_build_id(const struct module_elf *module, const char *folder, struct debug_file *ret_file)
{
	char path[PATH_MAX];
	CLEANUP_CLOSE int fd = -1;
	struct debug_file file;
	int n, r;

	if (module->n_build_id < 2)
		return -ENOENT;
	n = snprintf(path, sizeof(path), "%s/.build-id/%02x/", folder, module->build_id[0]);
	for (size_t i = 1; i < module->n_build_id && n > 0 && (size_t)n < sizeof(path); i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", module->build_id[i]);
	if (n < 0 || (size_t)n + sizeof(".debug") > sizeof(path))
		return -ENOENT;
	strcpy(path + n, ".debug");
	fd = open_other(module, path);
	if (fd < 0)
		return -ENOENT;
	r = open_elf(fd, &file);
	if (r < 0)
		return r;
	if (!has_build_id(file.elf, module)) {
		elf_end(file.elf);
		return -ENOENT;
	}
	steal_fd(&fd);
	*ret_file = file;
	return 0;
}

static int crc_of(int fd, uint32_t *ret_crc)
{
	CLEANUP_FREE uint8_t *chunk = malloc(CHUNK_BYTES);
	uLong crc = crc32(0, NULL, 0);
	ssize_t n;

	if (!chunk)
		return -ENOMEM;
	while ((n = file_read_up_to(fd, chunk, CHUNK_BYTES)) > 0)
		crc = crc32(crc, chunk, (uInt)n);
	if (n < 0)
		return -ENOENT;
	*ret_crc = (uint32_t)crc;
	return 0;
}

/* Opens one place where the linked file may be. */
static int try_link(
        const struct module_elf *module, const char *path, uint32_t crc, struct debug_file *ret_file)
{
	CLEANUP_CLOSE int fd = open_other(module, path);
	uint32_t own;
	int r;

	if (fd < 0)
		return -ENOENT;
	r = crc_of(fd, &own);
	if (r < 0)
		return r;
	if (own != crc)
		return -ENOENT;
	r = open_elf(fd, ret_file);
	if (r >= 0)
		steal_fd(&fd);
	return r;
}

static int find_by_link(
        const struct module_elf *module, const char *path, const char *folder, struct debug_file *ret_file)
{
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(module->elf, &crc), *slash = strrchr(path, '/');
	int n_parent = slash ? (int)(slash - path) : 0, r = -ENOENT;
	char candidate[PATH_MAX];
	struct {
		const char *before;
		const char *between;
	} const places[] = {{"", "/"}, {"", "/.debug/"}, {folder, "/"}};

	/* A name, not a path: what a file says must not lead elsewhere. */
	if (!name || !name[0] || strchr(name, '/') || !slash)
		return -ENOENT;
	for (size_t i = 0; i < N_ELEMENTS(places) && r == -ENOENT; i++) {
		int n = snprintf(candidate, sizeof(candidate), "%s%.*s%s%s", places[i].before, n_parent, path,
		        places[i].between, name);

		if (n > 0 && (size_t)n < sizeof(candidate))
			r = try_link(module, candidate, crc, ret_file);
	}
	return r;
}

int debug_file_find(
        const struct module_elf *module, const char *path, const char *folder, struct debug_file *ret_file)
{
	int r = find_by_build_id(module, folder, ret_file);

	return r == -ENOENT ? find_by_link(module, path, folder, ret_file) : r;
}

void debug_file_deinit(struct debug_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	cleanup_close(&file->fd);
	*file = (struct debug_file){.fd = -1};
}
