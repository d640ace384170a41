/* module.c: one module of a profile: its unwind rules and its names, read when first needed. */
#include "resolve/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resolve/demangle.h"
#include "resolve/name_cache.h"
#include "util/cleanup.h"

/* Nested inlining at one address; what lies deeper is left out. */
#define MAX_INLINED 64

void module_init(
        struct module *module, const struct module_folder *folder, const struct metadata_module *info)
{
	*module = (struct module){.info = info, .folder = folder};
}

/* Whether the error only concerns this module, with a warning where there is something to say. */
static bool tolerate(const struct module *module, const char *what, int error)
{
	if (error == -ENOMEM)
		return false;
	if (error != -ENOENT)
		log_warning(module->folder->log, "cannot read the %s of %s: %s", what,
		        module->info->path ? module->info->path : module->info->key, strerror(-error));
	return true;
}

static int file_name(const struct module *module, const char *suffix, char **ret_name)
{
	return asprintf(ret_name, "%s%s", module->info->key, suffix) < 0 ? -ENOMEM : 0;
}

static int read_unwind(struct module *module)
{
	CLEANUP_FREE char *name = NULL;
	int r = file_name(module, ".unwind_data", &name);

	if (r == 0)
		r = unwind_data_read(module->folder->fd, name, &module->unwind_data);
	if (r < 0)
		return r;
	r = module_rules_new(module->folder->arch, module->unwind_data.eh_frame,
	        module->unwind_data.n_eh_frame, module->unwind_data.eh_frame_start, &module->rules);
	if (r == 0 && module_rules_n_bad(module->rules) > 0)
		log_warning(module->folder->log, "%llu frame descriptions of %s make no sense",
		        (unsigned long long)module_rules_n_bad(module->rules),
		        module->info->path ? module->info->path : module->info->key);
	return r;
}

int module_need_unwind(struct module *module)
{
	int r;

	if (module->unwind_tried)
		return 0;
	r = read_unwind(module);
	if (r < 0 && !tolerate(module, "unwind data", r))
		return r;
	module->unwind_tried = true;
	return 0;
}

static int read_symbols(struct module *module)
{
	CLEANUP_FREE char *name = NULL;
	int r = file_name(module, ".symbols.map", &name);

	return r == 0 ? symbols_read(module->folder->fd, name, &module->symbols) : r;
}

int module_need_names(struct module *module)
{
	int r;

	if (module->names_tried)
		return 0;
	if (!module->cache && name_cache_new(&module->cache) < 0)
		return -ENOMEM;
	r = module->symbols.memory ? 0 : read_symbols(module);
	if (r < 0 && !tolerate(module, "symbols", r))
		return r;
	r = inlines_read(module->folder->fd, module->info->key, &module->inlines);
	if (r < 0 && !tolerate(module, "inlined functions", r))
		return r;
	module->names_tried = true;
	return 0;
}

static int intern(const struct module *module, const char *text, const char **ret_string)
{
	return texts_add(module->folder->texts, text, strlen(text), ret_string);
}

/* Both forms of a name as a file has it. */
static int set_symbol(const struct module *module, const char *symbol, struct module_name *name)
{
	CLEANUP_FREE char *function = NULL;
	int r = demangle(symbol, &function);

	if (r == 0)
		r = intern(module, symbol, &name->symbol);
	if (r == 0)
		r = intern(module, function, &name->function);
	return r;
}

static const struct metadata_line *find_line(const struct metadata_module *info, uint64_t svma)
{
	size_t low = 0, high = info->n_lines;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (info->lines[middle].addr <= svma)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || svma - info->lines[low - 1].addr >= info->lines[low - 1].size)
		return NULL;
	return &info->lines[low - 1];
}

static int name_from_inlines(
        const struct module *module, const struct inline_frame *frame, struct module_name *name)
{
	int r = 0;

	name->inlined = frame->inlined;
	if (frame->function)
		r = set_symbol(module, frame->function, name);
	if (r == 0 && frame->file) {
		name->line = frame->line;
		r = intern(module, frame->file, &name->file);
	}
	return r;
}

/* The symbol names the function that is really there, whether or not there is debug info, so that names agree
 * between builds with and without it. */
static int name_from_symbols(const struct module *module, uint64_t svma, struct module_name *name)
{
	const struct symbol *symbol = symbols_find(&module->symbols, svma);
	const struct metadata_line *line = find_line(module->info, svma);

	if (!name->file && line) {
		name->file = line->file;
		name->line = line->line;
	}
	return symbol ? set_symbol(module, symbol->name, name) : 0;
}

static uint64_t function_start(const struct module *module, uint64_t svma)
{
	const struct symbol *symbol = symbols_find(&module->symbols, svma);
	uint64_t start = svma;

	if (symbol)
		return symbol->addr;
	if (module->rules)
		module_rules_function(module->rules, svma, &start);
	return start;
}

static int find_names(
        const struct module *module, uint64_t svma, struct module_name **ret_names, size_t *ret_n_names)
{
	CLEANUP_FREE struct module_name *names = NULL;
	struct inline_frame frames[MAX_INLINED];
	size_t n = 0, n_names;
	uint64_t start;
	int r = 0;

	if (module->inlines)
		n = inlines_find(module->inlines, svma, frames, MAX_INLINED);
	if (n > MAX_INLINED)
		n = MAX_INLINED;
	n_names = n > 0 && !frames[n - 1].inlined ? n : n + 1;
	names = calloc(n_names, sizeof(names[0]));
	if (!names)
		return -ENOMEM;
	start = function_start(module, svma);
	for (size_t i = 0; i < n_names; i++)
		names[i].start = start;
	for (size_t i = 0; i < n && r == 0; i++)
		r = name_from_inlines(module, &frames[i], &names[i]);
	if (r == 0)
		r = name_from_symbols(module, svma, &names[n_names - 1]);
	if (r < 0)
		return r;
	*ret_names = STEAL_PTR(names);
	*ret_n_names = n_names;
	return 0;
}

int module_names(
        struct module *module, uint64_t svma, const struct module_name **ret_names, size_t *ret_n_names)
{
	const struct module_name *known;
	struct module_name *names;
	size_t n_names;
	int r = module_need_names(module);

	if (r < 0)
		return r;
	known = name_cache_find(module->cache, svma, ret_n_names);
	if (known) {
		*ret_names = known;
		return 0;
	}
	r = find_names(module, svma, &names, &n_names);
	if (r < 0)
		return r;
	r = name_cache_add(module->cache, svma, names, n_names);
	if (r < 0) {
		free(names);
		return r;
	}
	*ret_names = names;
	*ret_n_names = n_names;
	return 0;
}

bool module_named_range(struct module *module, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct symbols *symbols = &module->symbols;

	if (module_need_names(module) == 0 && symbols->n > 0) {
		*ret_start = symbols->items[0].addr;
		*ret_end = symbols->reach[symbols->n - 1];
		return true;
	}
	if (!module->info->has_bounds)
		return false;
	*ret_start = module->info->min;
	*ret_end = module->info->max;
	return true;
}

void module_deinit(struct module *module)
{
	module_rules_free(module->rules);
	unwind_data_deinit(&module->unwind_data);
	symbols_deinit(&module->symbols);
	inlines_free(module->inlines);
	name_cache_free(module->cache);
}
