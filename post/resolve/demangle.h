/* demangle.h: names of C++ and Rust as people wrote them. */
#ifndef POST_RESOLVE_DEMANGLE_H
#define POST_RESOLVE_DEMANGLE_H

#include <stddef.h>

/* Longer names stay as they are. */
#define DEMANGLE_MAX_INPUT  8192
#define DEMANGLE_MAX_OUTPUT 65536

/* Demangles C++ (Itanium ABI) and Rust (both schemes) by libiberty, after cutting off what compilers append
 * to the names of parts and copies of a function (".cold", ".part.0", ".constprop.1", ".isra.0", ".llvm.123",
 * …). Parameter types are kept, return types are not. Stores a heap copy: of the plain name where the symbol
 * is not mangled or cannot be demangled. Safe on any input. 0 or -ENOMEM. */
int demangle(const char *symbol, char **ret_name);

#endif
