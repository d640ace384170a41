/* inline_tables.c: which functions are inlined where. */
#include "module/inline_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

int inlines_new(struct inlines **ret_inlines)
{
	struct inlines *inlines = calloc(1, sizeof(*inlines));

	if (!inlines)
		return -ENOMEM;
	*ret_inlines = inlines;
	return 0;
}

int inlines_add_scope(struct inlines *inlines, const struct inline_scope *scope, uint32_t *ret_scope)
{
	int r;

	if (inlines->n_scopes >= INLINES_NO_SCOPE)
		return -ENOMEM;
	r = GROW_BY_ONE(inlines->scopes, inlines->n_scopes_allocated, inlines->n_scopes);
	if (r < 0)
		return r;
	*ret_scope = (uint32_t)inlines->n_scopes;
	inlines->scopes[inlines->n_scopes++] = *scope;
	return 0;
}

int inlines_add_piece(struct inlines *inlines, const struct inline_piece *piece)
{
	int r = GROW_BY_ONE(inlines->pieces, inlines->n_pieces_allocated, inlines->n_pieces);

	if (r < 0)
		return r;
	inlines->pieces[inlines->n_pieces++] = *piece;
	return 0;
}

int inlines_add_row(struct inlines *inlines, const struct inline_row *row)
{
	int r = GROW_BY_ONE(inlines->rows, inlines->n_rows_allocated, inlines->n_rows);

	if (r < 0)
		return r;
	inlines->rows[inlines->n_rows++] = *row;
	return 0;
}

/* A segment at the place of the last one takes its place, one of the same scope goes on with it. */
static int add_segment(struct inlines *inlines, uint64_t start, uint32_t scope)
{
	struct inline_segment *last =
	        inlines->n_segments ? &inlines->segments[inlines->n_segments - 1] : NULL;
	int r;

	if (last && last->start == start) {
		last->scope = scope;
		return 0;
	}
	if (last ? last->scope == scope : scope == INLINES_NO_SCOPE)
		return 0;
	r = GROW_BY_ONE(inlines->segments, inlines->n_segments_allocated, inlines->n_segments);
	if (r < 0)
		return r;
	inlines->segments[inlines->n_segments++] = (struct inline_segment){.start = start, .scope = scope};
	return 0;
}

static int outer_first(const void *a, const void *b)
{
	const struct inline_piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->scope < y->scope ? -1 : x->scope > y->scope;
}

/* Ends the open pieces that end up to `until`, innermost first: what is around each goes on behind it. */
static int close_pieces(
        struct inlines *inlines, const struct inline_piece *open, size_t *n_open, uint64_t until)
{
	while (*n_open > 0 && open[*n_open - 1].end <= until) {
		uint64_t end = open[--*n_open].end;
		int r = add_segment(inlines, end, *n_open ? open[*n_open - 1].scope : INLINES_NO_SCOPE);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Turns pieces that lie in each other into segments that do not. A piece that sticks out of the one around it
 * is cut there. */
static int make_segments(struct inlines *inlines)
{
	struct inline_piece *open = NULL;
	size_t n_open = 0, n_allocated = 0;
	int r = 0;

	if (inlines->n_pieces > 0)
		qsort(inlines->pieces, inlines->n_pieces, sizeof(inlines->pieces[0]), outer_first);
	for (size_t i = 0; i < inlines->n_pieces && r >= 0; i++) {
		struct inline_piece piece = inlines->pieces[i];

		r = close_pieces(inlines, open, &n_open, piece.start);
		if (r >= 0)
			r = GROW_BY_ONE(open, n_allocated, n_open);
		if (r < 0)
			break;
		if (n_open > 0 && piece.end > open[n_open - 1].end)
			piece.end = open[n_open - 1].end;
		open[n_open++] = piece;
		r = add_segment(inlines, piece.start, piece.scope);
	}
	if (r >= 0)
		r = close_pieces(inlines, open, &n_open, UINT64_MAX);
	free(open);
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct inline_row *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* The end of a sequence hides nothing that starts there. */
	if ((x->file == 0) != (y->file == 0))
		return x->file == 0 ? -1 : 1;
	return 0;
}

/* Of several rows at one address the last one counts; a row that says the same as the one before says
 * nothing. */
static void thin_rows(struct inlines *inlines)
{
	size_t n = 0;

	for (size_t i = 0; i < inlines->n_rows; i++) {
		const struct inline_row *row = &inlines->rows[i];

		if (i + 1 < inlines->n_rows && row[1].start == row->start)
			continue;
		if (n > 0 && inlines->rows[n - 1].file == row->file && inlines->rows[n - 1].line == row->line)
			continue;
		inlines->rows[n++] = *row;
	}
	inlines->n_rows = n;
}

/* Merges the sorted rows from[start .. middle) and from[middle .. end) to the same place of `to`. */
static void merge_rows(
        struct inline_row *to, const struct inline_row *from, size_t start, size_t middle, size_t end)
{
	size_t a = start, b = middle;

	/* Most runs follow each other as they lie in memory. */
	if (middle == end || by_start(&from[middle - 1], &from[middle]) <= 0) {
		memcpy(&to[start], &from[start], (end - start) * sizeof(to[0]));
		return;
	}
	for (size_t i = start; i < end; i++)
		to[i] = a < middle && (b >= end || by_start(&from[a], &from[b]) <= 0) ? from[a++] : from[b++];
}

/* A stable merge sort: rows come in long sorted runs, and their order at one address means something. */
static int sort_rows(struct inlines *inlines)
{
	struct inline_row *from = inlines->rows, *to;
	size_t n = inlines->n_rows;
	bool sorted = true;

	for (size_t i = 1; i < n && sorted; i++)
		sorted = by_start(&from[i - 1], &from[i]) <= 0;
	if (sorted)
		return 0;
	to = reallocarray(NULL, n, sizeof(to[0]));
	if (!to)
		return -ENOMEM;
	for (size_t width = 1; width < n; width *= 2) {
		struct inline_row *swapped = from;

		for (size_t start = 0; start < n; start += 2 * width) {
			size_t middle = start + width < n ? start + width : n;
			size_t end = middle + width < n ? middle + width : n;

			merge_rows(to, from, start, middle, end);
		}
		from = to;
		to = swapped;
	}
	free(to);
	inlines->rows = from;
	inlines->n_rows_allocated = n;
	return 0;
}

int inlines_finish(struct inlines *inlines)
{
	int r = sort_rows(inlines);

	if (r >= 0)
		r = make_segments(inlines);
	if (r < 0)
		return r;
	thin_rows(inlines);
	free(inlines->pieces);
	inlines->pieces = NULL;
	inlines->n_pieces = inlines->n_pieces_allocated = 0;
	return 0;
}

static const struct inline_row *find_row(const struct inlines *inlines, uint64_t svma)
{
	size_t low = 0, high = inlines->n_rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (inlines->rows[middle].start <= svma)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && inlines->rows[low - 1].file ? &inlines->rows[low - 1] : NULL;
}

static uint32_t find_scope(const struct inlines *inlines, uint64_t svma)
{
	size_t low = 0, high = inlines->n_segments;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (inlines->segments[middle].start <= svma)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? inlines->segments[low - 1].scope : INLINES_NO_SCOPE;
}

static const char *text_or_null(const struct inlines *inlines, uint32_t number)
{
	return number ? strings_get(&inlines->strings, number) : NULL;
}

size_t inlines_find(
        const struct inlines *inlines, uint64_t svma, struct inline_frame *ret_frames, size_t n_frames)
{
	const struct inline_row *row = find_row(inlines, svma);
	uint32_t scope = find_scope(inlines, svma), file = row ? row->file : 0, line = row ? row->line : 0;
	size_t n = 0;

	if (scope == INLINES_NO_SCOPE && !row)
		return 0;
	for (;;) {
		const struct inline_scope *here = scope == INLINES_NO_SCOPE ? NULL : &inlines->scopes[scope];

		scope = here ? here->parent : INLINES_NO_SCOPE;
		if (n < n_frames)
			ret_frames[n] = (struct inline_frame){
			        .function = here ? text_or_null(inlines, here->name) : NULL,
			        .file = text_or_null(inlines, file),
			        .line = line,
			        .inlined = scope != INLINES_NO_SCOPE,
			};
		n++;
		if (scope == INLINES_NO_SCOPE)
			return n;
		file = here->call_file;
		line = here->call_line;
	}
}

bool inlines_find_outermost(
        const struct inlines *inlines, uint64_t svma, const char **ret_file, uint32_t *ret_line)
{
	const struct inline_row *row = find_row(inlines, svma);
	uint32_t scope = find_scope(inlines, svma), file = row ? row->file : 0, line = row ? row->line : 0;

	for (; scope != INLINES_NO_SCOPE && inlines->scopes[scope].parent != INLINES_NO_SCOPE;
	        scope = inlines->scopes[scope].parent) {
		file = inlines->scopes[scope].call_file;
		line = inlines->scopes[scope].call_line;
	}
	if (!file)
		return false;
	*ret_file = strings_get(&inlines->strings, file);
	*ret_line = line;
	return true;
}

struct inlines *inlines_free(struct inlines *inlines)
{
	if (!inlines)
		return NULL;
	strings_deinit(&inlines->strings);
	free(inlines->scopes);
	free(inlines->segments);
	free(inlines->rows);
	free(inlines->pieces);
	free(inlines);
	return NULL;
}
