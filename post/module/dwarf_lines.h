/* dwarf_lines.h: lines and inlined functions out of a module's DWARF. */
#ifndef POST_MODULE_DWARF_LINES_H
#define POST_MODULE_DWARF_LINES_H

#include "module/dwarf_image.h"
#include "module/elf.h"
#include "module/inline_tables.h"

/* Reads the DWARF in `image` (of the module's own file or its separate one) and makes tables of what lies in
 * the module's code. `interrupted` (may be NULL) is asked now and then, with its context; true ends the work
 * with -EINTR. The caller ends *ret_inlines with inlines_free. 0; -EBADMSG where none of it can be read, or
 * -ENOMEM, with *ret_reason (a constant, or libdw's). */
int dwarf_lines_collect(const struct dwarf_image *image, const struct module_elf *module,
        bool (*interrupted)(void *context), void *context, struct inlines **ret_inlines,
        const char **ret_reason);

#endif
