/* style.c: plain text. Colours are the terminal's own, so that they fit its background. */
#include "report/style.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/utf8.h"

static const char *const codes[] = {[STYLE_PLAIN] = "",
        [STYLE_HEADING] = "\033[1m",
        [STYLE_DIM] = "\033[2m",
        [STYLE_BAD] = "\033[31m",
        [STYLE_GOOD] = "\033[32m",
        [STYLE_STRONG] = "\033[1m"};

static void style_begin(const struct text_out *text, enum style style)
{
	if (text->colour && style != STYLE_PLAIN)
		fputs(codes[style], text->out);
}

static void style_end(const struct text_out *text, enum style style)
{
	if (text->colour && style != STYLE_PLAIN)
		fputs("\033[0m", text->out);
}

void text_put(const struct text_out *text, enum style style, const char *string)
{
	const char *start;
	uint32_t character;
	bool valid;

	style_begin(text, style);
	while (*string) {
		start = string;
		character = utf8_next(&string, &valid);
		if (valid && !utf8_is_control(character))
			fwrite(start, 1, (size_t)(string - start), text->out);
		else
			for (; start < string; start++)
				fprintf(text->out, "\\x%02x", (unsigned char)*start);
	}
	style_end(text, style);
}

void text_printf(const struct text_out *text, enum style style, const char *format, ...)
{
	va_list arguments;

	style_begin(text, style);
	va_start(arguments, format);
	vfprintf(text->out, format, arguments);
	va_end(arguments);
	style_end(text, style);
}

size_t text_width(const char *string)
{
	size_t width = 0;
	const char *start;
	uint32_t character;
	bool valid;

	while (*string) {
		start = string;
		character = utf8_next(&string, &valid);
		width += valid && !utf8_is_control(character) ? 1 : 4 * (size_t)(string - start);
	}
	return width;
}

struct text_table {
	unsigned n_columns;
	unsigned right;
	char **cells;
	size_t n_cells, n_cells_allocated;
	size_t widths[];
};

int text_table_new(unsigned n_columns, unsigned right, struct text_table **ret_table)
{
	struct text_table *table = calloc(1, sizeof(*table) + n_columns * sizeof(table->widths[0]));

	if (!table)
		return -ENOMEM;
	table->n_columns = n_columns;
	table->right = right;
	*ret_table = table;
	return 0;
}

int text_table_add(struct text_table *table, const char *cell)
{
	size_t width = text_width(cell), column = table->n_cells % table->n_columns;
	int error = GROW_BY_ONE(table->cells, table->n_cells_allocated, table->n_cells);

	if (error < 0)
		return error;
	table->cells[table->n_cells] = strdup(cell);
	if (!table->cells[table->n_cells])
		return -ENOMEM;
	table->n_cells++;
	if (width > table->widths[column])
		table->widths[column] = width;
	return 0;
}

static void write_cell(const struct text_table *table, const struct text_out *text, size_t index)
{
	size_t column = index % table->n_columns, padding;
	bool right = table->right >> column & 1, last = column + 1 == table->n_columns;

	padding = table->widths[column] - text_width(table->cells[index]);
	if (right)
		fprintf(text->out, "%*s", (int)padding, "");
	text_put(text, index < table->n_columns ? STYLE_DIM : STYLE_PLAIN, table->cells[index]);
	if (!right && !last)
		fprintf(text->out, "%*s", (int)padding, "");
	fputs(last ? "\n" : "  ", text->out);
}

void text_table_write(const struct text_table *table, const struct text_out *text, const char *indent)
{
	for (size_t i = 0; i < table->n_cells; i++) {
		if (i % table->n_columns == 0)
			fputs(indent, text->out);
		write_cell(table, text, i);
	}
}

struct text_table *text_table_free(struct text_table *table)
{
	if (!table)
		return NULL;
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
	return NULL;
}
