/* debug_file.h: the separate file with a module's debug information. */
#ifndef POST_MODULE_DEBUG_FILE_H
#define POST_MODULE_DEBUG_FILE_H

#include "module/elf.h"

#define DEBUG_FILE_FOLDER "/usr/lib/debug"

/* An ELF file of its own. */
struct debug_file {
	int fd;
	Elf *elf;
};

/* Looks for the file by build-id below `folder`/.build-id, then by .gnu_debuglink with its CRC: beside the
 * module
 * (`path`: as the process saw it), in .debug there, and below `folder`. As GDB's manual describes it
 * ("Debugging Information in Separate Files"). 0; -ENOENT where there is none; or -ENOMEM. The caller ends it
 * with debug_file_deinit. */
int debug_file_find(
        const struct module_elf *module, const char *path, const char *folder, struct debug_file *ret_file);

/* Accepts {-1, NULL}. */
void debug_file_deinit(struct debug_file *file);

#endif
