/* functions.h: the allocator functions that an ELF file defines, with the places for their probes. */
#ifndef PLUGIN_PROBE_FUNCTIONS_H
#define PLUGIN_PROBE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/allocators.h"
#include "probe/site.h"

struct found_function {
	const struct allocator_function *function;
	uint64_t svma;        /* of the function */
	uint64_t file_offset; /* of the probe site */
	struct site site;
};

struct found_segment {
	uint64_t svma, file_offset, n_bytes;
};

struct found_functions {
	struct found_function *functions; /* sorted by address, one per address */
	size_t n_functions;
	bool is_elf;       /* else everything below is false */
	bool is_64_bit;    /* and of this machine */
	bool is_static;         /* an executable without an interpreter */
	bool is_shared_library; /* it has a DT_SONAME */
	bool is_c_library;      /* it defines __libc_start_main */
	bool has_symbols;       /* it has a symbol table at all */
	struct found_segment code; /* the executable segment that the functions are in */
};

/* Reads the symbol tables (.symtab and .dynsym, or where there are no sections the dynamic segment) of the file
 * open at `fd`. 0 also for a file that is no ELF; a negative errno when it cannot be read. The caller ends
 * *ret_found with found_functions_deinit. */
int found_functions_read(int fd, struct found_functions *ret_found);

void found_functions_deinit(struct found_functions *found);

#endif
