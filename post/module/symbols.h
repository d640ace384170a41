/* symbols.h: the file <key>.symbols.map of a profile (FORMATS.md section 4), written and read. */
#ifndef POST_MODULE_SYMBOLS_H
#define POST_MODULE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/* A named range of a module. */
struct symbol {
	uint64_t addr;    /* SVMA */
	uint64_t size;    /* bytes, never 0 */
	const char *name; /* as in the file, mangled; belongs to the table */
};

/* Sorted by address. Of several symbols at one address the one to show comes first. */
struct symbols {
	struct symbol *items;
	size_t n;
	size_t n_bad;    /* lines that symbols_parse could not use */
	uint64_t *reach; /* reach[i]: the largest last address of items[0..i] */
	void *memory;    /* the text that the names lie in, where symbols_read made it */
};

/* Reads the n bytes of a file, in any order of its lines. `text` has room for one byte more: each name is
 * ended with a NUL in place, and lies there. The caller ends it with symbols_deinit. 0 or -ENOMEM. */
int symbols_parse(char *text, size_t n, struct symbols *ret_symbols);

/* Reads the file `name` below the open folder. 0 or a negative errno: -EFBIG for an absurd size, -ENOMEM,
 * else of opening or reading. */
int symbols_read(int folder_fd, const char *name, struct symbols *ret_symbols);

/* Makes a sorted table ready for symbols_find; symbols_parse and symbols_read have done so. 0 or -ENOMEM. */
int symbols_index(struct symbols *symbols);

/* The symbol that covers the address and starts nearest to it, or NULL. */
const struct symbol *symbols_find(const struct symbols *symbols, uint64_t svma);

/* Writes the table. 0 or a negative errno. */
int symbols_write(int fd, const struct symbols *symbols);

void symbols_deinit(struct symbols *symbols);

#endif
