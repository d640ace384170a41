/* symtab.h: the symbols of a module, out of its own tables and those of its separate debug file. */
#ifndef POST_MODULE_SYMTAB_H
#define POST_MODULE_SYMTAB_H

#include <libelf.h>

#include "module/symbols.h"

/* Collects what is defined in .symtab and .dynsym of the n_files ELF files (NULL ones are passed over) that
 * describe one module. The names lie in the files, which must stay open as long as the table. A table that
 * cannot be read counts in n_bad. The caller ends *ret_symbols with symbols_deinit. 0 or -ENOMEM. */
int symtab_collect(Elf *const *files, size_t n_files, struct symbols *ret_symbols);

#endif
