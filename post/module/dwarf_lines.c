/* dwarf_lines.c: lines and inlined functions out of a module's DWARF. */
#include "module/dwarf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

/* libdw keeps the lines of all units it has read: begin anew after so many of them. */
#define ROWS_PER_BATCH (2u << 20)
/* Deeper than compilers nest; what is deeper is left out. */
#define DEPTH_MAX 200
/* Rows or ranges per byte of the file, which may be compressed: more are repetitions. */
#define BYTES_FACTOR 4
#define TEXT_MAX     65536 /* bytes of a name; a longer one is damage */
#define N_CACHED     256   /* a power of two */

struct collector {
	const struct module_elf *module;
	struct inlines *inlines;
	bool (*interrupted)(void *context);
	void *context;
	/* Numbers of file names by the address that libdw has them at, within one batch. */
	struct {
		const char *text;
		uint32_t number;
	} cache[N_CACHED];
	size_t n_rows_in_batch;
	bool is_c;          /* the language of the unit */
	Dwarf_Off last_die; /* of the unit: DIEs are met in the order of their offsets */
	size_t n_bytes;     /* of the file */
};

static int number_of(struct collector *collector, const char *text, uint32_t *ret_number)
{
	size_t slot = ((uintptr_t)text >> 3 ^ (uintptr_t)text >> 11) & (N_CACHED - 1), n;
	int r;

	*ret_number = 0;
	if (!text)
		return 0;
	if (collector->cache[slot].text == text) {
		*ret_number = collector->cache[slot].number;
		return 0;
	}
	n = strnlen(text, TEXT_MAX);
	if (n == TEXT_MAX)
		return 0;
	r = strings_add(&collector->inlines->strings, text, n, ret_number);
	if (r < 0)
		return r;
	collector->cache[slot].text = text;
	collector->cache[slot].number = *ret_number;
	return 0;
}

/* Fills one row. False: it is of code that the linker left out, which has addresses from 0 on. */
static bool read_row(
        struct collector *collector, Dwarf_Line *line, struct inline_row *ret_row, int *ret_error)
{
	Dwarf_Addr address;
	bool is_end;
	int number;

	*ret_row = (struct inline_row){0};
	if (dwarf_lineaddr(line, &address) < 0 || dwarf_lineendsequence(line, &is_end) < 0)
		return false;
	if (!module_elf_is_code(collector->module, is_end && address ? address - 1 : address, 1))
		return false;
	ret_row->start = address;
	if (is_end)
		return true;
	*ret_error = number_of(collector, dwarf_linesrc(line, NULL, NULL), &ret_row->file);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		ret_row->line = (uint32_t)number;
	return true;
}

/* Compilers may end a run of code with a row that covers nothing, at the address of its end. libdw gives it
 * behind the end, where it looks like the start of more code; but it is no statement and says what the row
 * before the end said. */
static bool is_behind_end(Dwarf_Line *line, const struct inline_row *row, const struct inline_row *before,
        const struct inline_row *end)
{
	bool is_statement = true;

	return end->file == 0 && end->start == row->start && row->file == before->file &&
	       row->line == before->line && dwarf_linebeginstatement(line, &is_statement) == 0 &&
	       !is_statement;
}

static int collect_rows(struct collector *collector, Dwarf_Die *unit)
{
	struct inline_row before = {0}, last = {0};
	Dwarf_Lines *lines;
	size_t n;

	if (dwarf_getsrclines(unit, &lines, &n) < 0)
		return 0; /* none, or damaged */
	if (collector->inlines->n_rows + n > BYTES_FACTOR * collector->n_bytes)
		return -EBADMSG; /* many units that claim the same lines */
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		struct inline_row row;
		int r = 0;

		if (!line || !read_row(collector, line, &row, &r) ||
		        is_behind_end(line, &row, &before, &last))
			continue;
		if (r >= 0)
			r = inlines_add_row(collector->inlines, &row);
		if (r < 0)
			return r;
		before = last;
		last = row;
	}
	collector->n_rows_in_batch += n;
	return 0;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name ? name : dwarf_diename(die);
}

static uint32_t uint_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) < 0 ||
	        value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* A DIE with code is a scope; *ret_scope stays as it is for one without. */
static int collect_scope(
        struct collector *collector, Dwarf_Die *die, Dwarf_Files *files, uint32_t depth, uint32_t *ret_scope)
{
	struct inline_scope scope = {.parent = INLINES_NO_SCOPE};
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	bool is_new = false;
	int r;

	if (dwarf_tag(die) == DW_TAG_inlined_subroutine) {
		scope.parent = *ret_scope;
		scope.call_line = uint_of(die, DW_AT_call_line);
		r = number_of(collector,
		        files ? dwarf_filesrc(files, uint_of(die, DW_AT_call_file), NULL, NULL) : NULL,
		        &scope.call_file);
		if (r < 0)
			return r;
	}
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		struct inline_piece piece = {.start = start, .end = end, .depth = depth};

		if (start >= end || !module_elf_is_code(collector->module, start, end - start))
			continue;
		if (collector->inlines->n_pieces >= BYTES_FACTOR * collector->n_bytes)
			return -EBADMSG; /* many scopes that claim the same ranges */
		if (!is_new) {
			r = number_of(collector, name_of(die), &scope.name);
			if (r >= 0)
				r = inlines_add_scope(collector->inlines, &scope, ret_scope);
			if (r < 0)
				return r;
			is_new = true;
		}
		piece.scope = *ret_scope;
		r = inlines_add_piece(collector->inlines, &piece);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_c(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return false;
	}
}

/* Whether functions with code may lie inside. The types of C have none, and many members. */
static bool is_container(const struct collector *collector, int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return !collector->is_c;
	default:
		return false;
	}
}

/* Collects what lies inside a DIE; `scope` is the scope around it. */
static int collect_inside(
        struct collector *collector, Dwarf_Die *parent, Dwarf_Files *files, uint32_t scope, uint32_t depth)
{
	Dwarf_Die die;
	int status = depth < DEPTH_MAX ? dwarf_child(parent, &die) : 1;

	for (; status == 0; status = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die), r = 0;
		uint32_t own = scope;

		/* A damaged reference to the next one must not lead round, nor into what was seen. */
		if (dwarf_dieoffset(&die) <= collector->last_die)
			break;
		collector->last_die = dwarf_dieoffset(&die);
		if (!is_container(collector, tag))
			continue;
		if (tag == DW_TAG_subprogram ||
		        (tag == DW_TAG_inlined_subroutine && scope != INLINES_NO_SCOPE))
			r = collect_scope(collector, &die, files, depth, &own);
		if (r >= 0)
			r = collect_inside(collector, &die, files, own, depth + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static int collect_unit(struct collector *collector, Dwarf_Die *unit, Dwarf_Die *split)
{
	Dwarf_Die *tree = dwarf_tag(split) != DW_TAG_invalid ? split : unit;
	Dwarf_Files *files = NULL;
	size_t n_files;
	int r;

	/* Units of types, and what dwz made, repeat the lines of those that use them, and have no code. */
	if (dwarf_tag(unit) != DW_TAG_compile_unit && dwarf_tag(unit) != DW_TAG_skeleton_unit)
		return 0;
	r = collect_rows(collector, unit);
	if (r < 0)
		return r;
	collector->is_c = is_c(tree);
	collector->last_die = dwarf_dieoffset(tree);
	if (dwarf_getsrcfiles(tree, &files, &n_files) < 0)
		files = NULL;
	return collect_inside(collector, tree, files, INLINES_NO_SCOPE, 0);
}

/* Reads units from number *n_done on, until there are no more or libdw keeps too much. */
static int collect_batch(struct collector *collector, Dwarf *dwarf, size_t *n_done, bool *ret_is_last)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	size_t n = 0;
	int status;

	memset(collector->cache, 0, sizeof(collector->cache));
	collector->n_rows_in_batch = 0;
	while ((status = dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, &split)) == 0) {
		int r;

		if (n++ < *n_done)
			continue;
		if (collector->interrupted && collector->interrupted(collector->context))
			return -EINTR;
		r = collect_unit(collector, &die, &split);
		if (r < 0)
			return r;
		++*n_done;
		if (collector->n_rows_in_batch >= ROWS_PER_BATCH) {
			*ret_is_last = false;
			return 0;
		}
	}
	*ret_is_last = true;
	return status < 0 && *n_done == 0 ? -EBADMSG : 0;
}

static int collect_all(struct collector *collector, const struct dwarf_image *image, const char **ret_reason)
{
	size_t n_done = 0;
	bool is_last = false;
	int r = 0;

	while (r >= 0 && !is_last) {
		Dwarf *dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);

		if (!dwarf) {
			*ret_reason = dwarf_errmsg(-1);
			return -EBADMSG;
		}
		if (image->alternative)
			dwarf_setalt(dwarf, image->alternative);
		*ret_reason = "it is damaged";
		r = collect_batch(collector, dwarf, &n_done, &is_last);
		dwarf_setalt(dwarf, NULL);
		dwarf_end(dwarf);
	}
	return r;
}

int dwarf_lines_collect(const struct dwarf_image *image, const struct module_elf *module,
        bool (*interrupted)(void *context), void *context, struct inlines **ret_inlines,
        const char **ret_reason)
{
	struct collector collector = {
	        .module = module, .interrupted = interrupted, .context = context, .n_bytes = image->n_memory};
	int r;

	*ret_reason = "out of memory";
	r = inlines_new(&collector.inlines);
	if (r < 0)
		return r;
	r = collect_all(&collector, image, ret_reason);
	if (r >= 0)
		r = inlines_finish(collector.inlines);
	if (r < 0) {
		inlines_free(collector.inlines);
		return r;
	}
	*ret_inlines = collector.inlines;
	return 0;
}
