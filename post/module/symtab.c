/* symtab.c: the symbols of a module. */
#include "module/symtab.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

#define PAGE_BYTES 4096

struct candidate {
	uint64_t addr;
	uint64_t size;
	const char *name;
	uint32_t rank; /* the smallest one is shown */
};

struct candidates {
	struct candidate *items;
	size_t n;
	size_t n_allocated;
	size_t n_bad;
};

static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) && (name[2] == '\0' || name[2] == '.');
}

static bool is_wanted(const GElf_Sym *symbol, const char *name)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_OBJECT:
	case STT_NOTYPE:
		break;
	default:
		return false;
	}
	if (symbol->st_shndx == SHN_UNDEF ||
	        (symbol->st_shndx >= SHN_LORESERVE && symbol->st_shndx != SHN_XINDEX))
		return false;
	return name && name[0] && !is_mapping_symbol(name);
}

/* Of the names of one address people know best: a function's, with a size, that others can link to, without
 * underscores before it, and short. */
static uint32_t rank_of(const GElf_Sym *symbol, const char *name)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	uint32_t n_underscores = (uint32_t)strspn(name, "_"), rank;
	size_t n = strlen(name);

	rank = symbol->st_size == 0;
	rank = rank << 2 | (type == STT_OBJECT ? 1 : type == STT_NOTYPE ? 2 : 0);
	rank = rank << 1 | (GELF_ST_BIND(symbol->st_info) == STB_LOCAL);
	rank = rank << 4 | (n_underscores < 15 ? n_underscores : 15);
	return rank << 16 | (n < 0xffff ? (uint32_t)n : 0xffff);
}

static int add_symbol(struct candidates *candidates, const GElf_Sym *symbol, const char *name)
{
	int r;

	if (!is_wanted(symbol, name))
		return 0;
	r = GROW_BY_ONE(candidates->items, candidates->n_allocated, candidates->n);
	if (r < 0)
		return r;
	candidates->items[candidates->n++] = (struct candidate){
	        .addr = symbol->st_value,
	        .size = symbol->st_size,
	        .name = name,
	        .rank = rank_of(symbol, name),
	};
	return 0;
}

static int add_table(struct candidates *candidates, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT), n;

	if (!data || size == 0) {
		candidates->n_bad++;
		return 0;
	}
	n = data->d_size / size;
	for (size_t i = 1; i < n; i++) {
		GElf_Sym symbol;
		int r;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		r = add_symbol(candidates, &symbol, elf_strptr(elf, header->sh_link, symbol.st_name));
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_file(struct candidates *candidates, Elf *elf)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		int r;

		/* A debug file has the header of .dynsym too, but not its contents. */
		if (!gelf_getshdr(section, &header) ||
		        (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		r = add_table(candidates, elf, section, &header);
		if (r < 0)
			return r;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	order = strcmp(x->name, y->name);
	if (order)
		return order;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_rank(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Of several with one address and name the best one stays. */
static void remove_duplicates(struct candidates *candidates)
{
	size_t n = 0;

	qsort(candidates->items, candidates->n, sizeof(candidates->items[0]), by_name);
	for (size_t i = 0; i < candidates->n; i++) {
		const struct candidate *item = &candidates->items[i];

		if (n > 0 && candidates->items[n - 1].addr == item->addr &&
		        strcmp(candidates->items[n - 1].name, item->name) == 0)
			continue;
		candidates->items[n++] = *item;
	}
	candidates->n = n;
}

static uint64_t size_of(const struct candidates *candidates, size_t i)
{
	const struct candidate *item = &candidates->items[i];

	if (item->size > 0)
		return item->size;
	if (i + 1 < candidates->n)
		return item[1].addr - item->addr;
	return (PAGE_BYTES - item->addr % PAGE_BYTES) % PAGE_BYTES + PAGE_BYTES;
}

static int make_table(struct candidates *candidates, struct symbols *symbols)
{
	if (candidates->n == 0)
		return 0;
	remove_duplicates(candidates);
	qsort(candidates->items, candidates->n, sizeof(candidates->items[0]), by_rank);
	symbols->items = reallocarray(NULL, candidates->n, sizeof(symbols->items[0]));
	if (!symbols->items)
		return -ENOMEM;
	for (size_t i = 0; i < candidates->n; i++) {
		uint64_t size = size_of(candidates, i);

		if (size > 0)
			symbols->items[symbols->n++] = (struct symbol){
			        .addr = candidates->items[i].addr,
			        .size = size,
			        .name = candidates->items[i].name,
			};
	}
	return symbols_index(symbols);
}

int symtab_collect(Elf *const *files, size_t n_files, struct symbols *ret_symbols)
{
	struct candidates candidates = {0};
	struct symbols symbols = {0};
	int r = 0;

	for (size_t i = 0; i < n_files && r >= 0; i++)
		if (files[i])
			r = add_file(&candidates, files[i]);
	if (r >= 0)
		r = make_table(&candidates, &symbols);
	free(candidates.items);
	if (r < 0) {
		symbols_deinit(&symbols);
		return r;
	}
	symbols.n_bad = candidates.n_bad;
	*ret_symbols = symbols;
	return 0;
}
