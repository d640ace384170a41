/* dwarf_lines.h: lines and inlined functions out of a module's DWARF. */
#ifndef POST_MODULE_DWARF_LINES_H
#define POST_MODULE_DWARF_LINES_H

#include "module/elf.h"
#include "module/inline_tables.h"

/* Whether the file has DWARF of its own. */
bool dwarf_lines_are_in(Elf *elf);

/* Reads the DWARF in `elf` (the module's own file or its separate one; opened from a file in its place, since
 * files that it refers to are found from there) and makes tables of what lies in the module's code.
 * `interrupted` (may be NULL) is asked now and then, with its context; true ends the work with -EINTR. The
 * caller ends *ret_inlines with inlines_free. 0; -ENOENT where there is no DWARF, -EBADMSG where none of it
 * can be read, with *ret_reason (a constant, or libdw's); -ENOMEM. */
int dwarf_lines_collect(Elf *elf, const struct module_elf *module, bool (*interrupted)(void *context),
        void *context, struct inlines **ret_inlines, const char **ret_reason);

#endif
