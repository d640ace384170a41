/* test_symtab.c: the symbols of modules against those that readelf lists. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "module/elf.h"
#include "module/symtab.h"
#include "util/cleanup.h"

static struct module_elf open_module(const char *name)
{
	struct module_elf module;
	const char *reason;

	cr_assert_eq(module_elf_init(&module, open_fixture(name), &reason), 0);
	return module;
}

static void close_module(struct module_elf *module)
{
	int fd = module->fd;

	module_elf_deinit(module);
	close(fd);
}

/* By awk, out of both tables: defined, of the wanted types, each address and name once, with its size (0
 * where it says none). Versions are part of names only in .symtab. */
static const char by_readelf[] =
        "readelf -sW %s 2>&1 | sed 's/<OS specific>: 10/IFUNC/' | awk '/^Symbol table/ {dynamic = /dynsym/} "
        "$4 ~ /^(FUNC|IFUNC|OBJECT|NOTYPE)$/ && $7 != \"UND\" && $7 != \"ABS\" && $7 != \"COM\" && $8 != "
        "\"\" "
        "{name = $8; if (dynamic) sub(/@.*/, \"\", name); size = $3 + 0; "
        "key = $2 \" \" name; if (!(key in sizes) || sizes[key] == 0) sizes[key] = size} "
        "END {for (key in sizes) print key, sizes[key]}' | LC_ALL=C sort";

/* `debug_name`: its separate debug file, or NULL; `whole`: the file that has it all. */
static void check_symbols(const char *name, const char *debug_name, const char *whole)
{
	struct module_elf module = open_module(name), debug = {0};
	Elf *files[] = {module.elf, NULL};
	struct symbols symbols;
	size_t n_expected = 0;
	int status, n_read;
	char command[2000];
	CLEANUP_FREE char *text = NULL;

	if (debug_name) {
		debug = open_module(debug_name);
		files[1] = debug.elf;
	}
	cr_assert_eq(symtab_collect(files, 2, &symbols), 0);
	snprintf(command, sizeof(command), by_readelf, fixture(whole));
	text = shell(&status, "%s", command);
	for (char *at = text; *at; at += n_read) {
		unsigned long addr, size;
		char symbol_name[200];
		size_t n_found = 0;

		cr_assert_eq(
		        sscanf(at, "%lx %199s %lu\n%n", &addr, symbol_name, &size, &n_read), 3, "%s", at);
		for (size_t i = 0; i < symbols.n; i++)
			if (symbols.items[i].addr == addr &&
			        strcmp(symbols.items[i].name, symbol_name) == 0) {
				cr_assert(size == 0 || symbols.items[i].size == size, "%s: %s", name,
				        symbol_name);
				n_found++;
			}
		/* One without a size, in the place of another, may be left out. */
		cr_assert(n_found == 1 || (n_found == 0 && size == 0), "%s: %s is there %zu times", name,
		        symbol_name, n_found);
		n_expected += n_found;
	}
	cr_assert_eq(symbols.n, n_expected, "%s: %zu symbols, readelf has %zu", name, symbols.n, n_expected);
	for (size_t i = 0; i < symbols.n; i++) {
		cr_assert_gt(symbols.items[i].size, 0);
		cr_assert(i == 0 || symbols.items[i].addr >= symbols.items[i - 1].addr);
	}
	symbols_deinit(&symbols);
	if (files[1])
		close_module(&debug);
	close_module(&module);
}

Test(symtab, same_as_readelf)
{
	static const char *const names[] = {
	        "pie", "nopie", "static", "shared.so", "lld", "lld.so", "gc", "stripped", "none"};

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		check_symbols(names[i], NULL, names[i]);
}

/* A stripped program gets its symbols from its debug file. */
Test(symtab, from_the_debug_file)
{
	check_symbols("stripped", "pie.debug", "pie");
}

static const struct symbol *find_named(const struct symbols *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->n; i++)
		if (strcmp(symbols->items[i].name, name) == 0)
			return &symbols->items[i];
	return NULL;
}

/* What is in, what is not, sizes where the file gives none, and which name is shown. */
Test(symtab, kinds_of_symbols)
{
	struct module_elf module = open_module("pie");
	Elf *files[] = {module.elf};
	struct symbols symbols;

	cr_assert_eq(symtab_collect(files, 1, &symbols), 0);
	cr_assert_not_null(find_named(&symbols, "sample_data"));
	cr_assert_not_null(find_named(&symbols, "hidden_function"));
	cr_assert_not_null(find_named(&symbols, "indirect_function"));
	cr_assert_null(find_named(&symbols, "sample_thread_local"));
	cr_assert_null(find_named(&symbols, "absolute_symbol"));
	cr_assert_null(find_named(&symbols, "sample.c"));
	cr_assert_null(find_named(&symbols, "puts"));
	cr_assert_eq(find_named(&symbols, "label_without_size")->size, 1);
	cr_assert_str_eq(
	        symbols_find(&symbols, find_named(&symbols, "weak_function")->addr)->name, "weak_function");
	cr_assert_not_null(find_named(&symbols, "alias_function"));
	cr_assert_not_null(find_named(&symbols, "a"));
	cr_assert_str_eq(symbols_find(&symbols, find_named(&symbols, "main")->addr)->name, "main");
	symbols_deinit(&symbols);
	close_module(&module);
}

/* Without section headers there is nothing to read; that is no error. */
Test(symtab, no_sections)
{
	struct module_elf module = open_module("nosections-stripped");
	Elf *files[] = {module.elf};
	struct symbols symbols;

	cr_assert_eq(symtab_collect(files, 1, &symbols), 0);
	cr_assert_eq(symbols.n, 0);
	symbols_deinit(&symbols);
	close_module(&module);
}
