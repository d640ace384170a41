/* inline_tables.h: the tables behind inlines.h: made out of DWARF, or read from a file. */
#ifndef POST_MODULE_INLINE_TABLES_H
#define POST_MODULE_INLINE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "module/inlines.h"
#include "util/strings.h"

#define INLINES_NO_SCOPE UINT32_MAX

/* A function, or one place where a function is inlined. Texts are numbers of `strings`, 0: unknown. */
struct inline_scope {
	uint32_t parent; /* an earlier scope that it is inlined into; INLINES_NO_SCOPE: a real function */
	uint32_t name;
	uint32_t call_file; /* where in the parent it is called */
	uint32_t call_line;
};

/* A piece of code of a scope, while the tables are made. Pieces of inner scopes lie in those of outer ones.
 */
struct inline_piece {
	uint64_t start; /* SVMA */
	uint64_t end;
	uint32_t scope;
	uint32_t depth;
};

/* From this SVMA to the next segment's: code of this innermost scope. */
struct inline_segment {
	uint64_t start;
	uint32_t scope; /* INLINES_NO_SCOPE: of none */
};

/* From this SVMA to the next row's: this line. File and line 0: none. */
struct inline_row {
	uint64_t start;
	uint32_t file;
	uint32_t line;
};

struct inlines {
	struct strings strings;
	struct inline_scope *scopes;
	size_t n_scopes;
	size_t n_scopes_allocated;
	struct inline_segment *segments; /* sorted */
	size_t n_segments;
	size_t n_segments_allocated;
	struct inline_row *rows; /* sorted */
	size_t n_rows;
	size_t n_rows_allocated;
	struct inline_piece *pieces; /* only until inlines_finish */
	size_t n_pieces;
	size_t n_pieces_allocated;
};

/* All 0 or -ENOMEM. Rows and pieces may come in any order. */
int inlines_new(struct inlines **ret_inlines);
int inlines_add_scope(struct inlines *inlines, const struct inline_scope *scope, uint32_t *ret_scope);
int inlines_add_piece(struct inlines *inlines, const struct inline_piece *piece);
int inlines_add_row(struct inlines *inlines, const struct inline_row *row);

/* Sorts the tables: from now on inlines_find and inlines_write work. 0 or -ENOMEM. */
int inlines_finish(struct inlines *inlines);

/* The place in the function that is really there (the last frame of inlines_find). False: unknown. */
bool inlines_find_outermost(
        const struct inlines *inlines, uint64_t svma, const char **ret_file, uint32_t *ret_line);

/* Writes the file: see inlines.c. 0 or a negative errno. */
int inlines_write(int fd, const struct inlines *inlines);

/* Reads the n bytes of a file. 0, -EBADMSG or -ENOMEM. */
int inlines_parse(const uint8_t *bytes, size_t n, struct inlines **ret_inlines);

#endif
