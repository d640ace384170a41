/* symbols.c: the file <key>.symbols.map of a profile. */
#include "module/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/file.h"
#include "util/grow.h"

#define FILE_MAX ((size_t)1 << 30)

/* Up to 16 hexadecimal digits and a space behind them. */
static bool take_hex(const char **at, const char *end, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned n = 0;

	for (; *at < end && **at != ' '; ++*at, n++) {
		char c = **at | 0x20; /* lower case; digits have the bit */

		if (n == 16)
			return false;
		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	if (n == 0 || *at == end)
		return false;
	++*at;
	*ret_value = value;
	return true;
}

static bool parse_line(const char *line, const char *end, struct symbol *ret_symbol)
{
	if (!take_hex(&line, end, &ret_symbol->addr) || !take_hex(&line, end, &ret_symbol->size))
		return false;
	ret_symbol->name = line;
	return line < end && *line && ret_symbol->size > 0; /* a NUL in it is no name */
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name; /* the order in the file */
}

static void sort(struct symbols *symbols)
{
	for (size_t i = 1; i < symbols->n; i++)
		if (symbols->items[i].addr < symbols->items[i - 1].addr) {
			qsort(symbols->items, symbols->n, sizeof(symbols->items[0]), compare);
			return;
		}
}

int symbols_index(struct symbols *symbols)
{
	uint64_t farthest = 0;

	symbols->reach = reallocarray(NULL, symbols->n ? symbols->n : 1, sizeof(symbols->reach[0]));
	if (!symbols->reach)
		return -ENOMEM;
	for (size_t i = 0; i < symbols->n; i++) {
		uint64_t last;

		/* Sizes are at least 1. The last address, not the end: that of the last symbol there can be is 0. */
		if (__builtin_add_overflow(symbols->items[i].addr, symbols->items[i].size - 1, &last))
			last = UINT64_MAX;
		if (last > farthest)
			farthest = last;
		symbols->reach[i] = farthest;
	}
	return 0;
}

int symbols_parse(char *text, size_t n, struct symbols *ret_symbols)
{
	struct symbols symbols = {0};
	size_t n_allocated = 0;
	char *end = text + n;
	int r;

	for (char *line = text, *line_end; line < end; line = line_end + 1) {
		struct symbol symbol;

		line_end = memchr(line, '\n', (size_t)(end - line));
		if (!line_end)
			line_end = end;
		*line_end = '\0';
		if (!parse_line(line, line_end, &symbol)) {
			symbols.n_bad += line != line_end;
			continue;
		}
		r = GROW_BY_ONE(symbols.items, n_allocated, symbols.n);
		if (r < 0) {
			symbols_deinit(&symbols);
			return r;
		}
		symbols.items[symbols.n++] = symbol;
	}
	sort(&symbols);
	r = symbols_index(&symbols);
	if (r < 0) {
		symbols_deinit(&symbols);
		return r;
	}
	*ret_symbols = symbols;
	return 0;
}

int symbols_read(int folder_fd, const char *name, struct symbols *ret_symbols)
{
	CLEANUP_FREE char *text = NULL;
	size_t n;
	int r = file_read_whole(folder_fd, name, FILE_MAX, &text, &n);

	if (r >= 0)
		r = symbols_parse(text, n, ret_symbols);
	if (r < 0)
		return r;
	ret_symbols->memory = STEAL_PTR(text);
	return 0;
}

/* How many symbols start at or before the address. */
static size_t n_up_to(const struct symbols *symbols, uint64_t svma)
{
	size_t low = 0, high = symbols->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->items[middle].addr <= svma)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct symbol *symbols_find(const struct symbols *symbols, uint64_t svma)
{
	const struct symbol *found = NULL;

	for (size_t i = n_up_to(symbols, svma); i-- > 0;) {
		const struct symbol *symbol = &symbols->items[i];

		if (found ? symbol->addr != found->addr : symbols->reach[i] < svma)
			break;
		if (svma - symbol->addr < symbol->size)
			found = symbol;
	}
	return found;
}

/* A name must not end its line early. */
static void put_name(FILE *file, const char *name)
{
	for (; *name; name++)
		putc_unlocked((unsigned char)*name < ' ' ? '_' : *name, file);
}

int symbols_write(int fd, const struct symbols *symbols)
{
	FILE *file = file_stream(fd);

	if (!file)
		return -errno;
	for (size_t i = 0; i < symbols->n; i++) {
		const struct symbol *symbol = &symbols->items[i];

		fprintf(file, "%" PRIx64 " %" PRIx64 " ", symbol->addr, symbol->size);
		put_name(file, symbol->name);
		putc_unlocked('\n', file);
	}
	return file_stream_close(file);
}

void symbols_deinit(struct symbols *symbols)
{
	free(symbols->items);
	free(symbols->reach);
	free(symbols->memory);
	*symbols = (struct symbols){0};
}
