/* style.h: plain text to a stream: colours where wanted, aligned tables, nothing a terminal would act on. */
#ifndef POST_REPORT_STYLE_H
#define POST_REPORT_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum style {
	STYLE_PLAIN,
	STYLE_HEADING,
	STYLE_DIM,
	STYLE_BAD,
	STYLE_GOOD,
	STYLE_STRONG,
};

struct text_out {
	FILE *out;
	bool colour;
};

/* Writes text of unknown origin: control characters and bytes that are no UTF-8 as \xNN. */
void text_put(const struct text_out *text, enum style style, const char *string);

/* Writes text of our own. */
void text_printf(const struct text_out *text, enum style style, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Columns that `string` takes as text_put writes it, taking each character for one. */
size_t text_width(const char *string);

/* A table: cells are added row by row, and written all at once. The first row is the heading. */
struct text_table;

/* `right` has a bit for each column that is aligned to the right. 0 or -ENOMEM. */
int text_table_new(unsigned n_columns, unsigned right, struct text_table **ret_table);

/* Copies the next cell. 0 or -ENOMEM. */
int text_table_add(struct text_table *table, const char *cell);

void text_table_write(const struct text_table *table, const struct text_out *text, const char *indent);

/* NULL-safe; returns NULL. */
struct text_table *text_table_free(struct text_table *table);

#endif
