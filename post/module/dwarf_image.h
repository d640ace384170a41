/* dwarf_image.h: a file with DWARF, as libdw may read it. */
#ifndef POST_MODULE_DWARF_IMAGE_H
#define POST_MODULE_DWARF_IMAGE_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

/* The whole file in memory, followed by zeros: libdw reads damaged texts and units to a little beyond the end
 * of their sections, which must not be beyond the end of the memory. All zero: none. */
struct dwarf_image {
	void *memory;
	size_t n_memory;
	Elf *elf;
	Dwarf *alternative; /* what dwz moved into a file that several share; NULL: nothing */
	struct dwarf_image *alternative_image;
};

/* Whether the file has DWARF of its own. */
bool dwarf_image_is_in(Elf *elf);

/* Reads the file behind `fd`, which stays the caller's, and the one that its .gnu_debugaltlink names, if it
 * has one: by build-id below debug_folder/.build-id, or by its path, relative to the file's own folder. 0;
 * -ENOENT where there is no DWARF; -EBADMSG, -EFBIG, -ENOMEM or the negative errno of a read, with
 * *ret_reason. */
int dwarf_image_init(struct dwarf_image *image, int fd, const char *debug_folder, const char **ret_reason);

void dwarf_image_deinit(struct dwarf_image *image);

#endif
