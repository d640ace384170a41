/* test_tables.c: the tables that reports are made of: map64, string_pool, stacks, tree. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/tree.h"
#include "report/stacks.h"
#include "util/string_pool.h"
#include "util/cleanup.h"
#include "util/map64.h"

Test(map64, many_keys)
{
	struct map64 map = {0};

	cr_assert_eq(map64_find(&map, 0), MAP64_NONE);
	for (uint64_t i = 0; i < 100000; i++)
		cr_assert_eq(map64_set(&map, i * i * 0x10001, (uint32_t)i), 0);
	map64_set(&map, 9 * 0x10001, 77);
	for (uint64_t i = 0; i < 100000; i++)
		cr_assert_eq(map64_find(&map, i * i * 0x10001), i == 3 ? 77 : i);
	cr_assert_eq(map64_find(&map, 2), MAP64_NONE);
	cr_assert_eq(map64_find(&map, UINT64_MAX), MAP64_NONE);
	map64_deinit(&map);
	cr_assert_eq(map64_find(&map, 0), MAP64_NONE);
}

Test(string_pool, equal_text_has_an_equal_number)
{
	struct string_pool *pool;
	char text[32], *large = malloc(1000001);
	uint32_t id;

	cr_assert_eq(string_pool_new(&pool), 0);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 50000; i++) {
			snprintf(text, sizeof(text), "string %u", i);
			cr_assert_eq(string_pool_add(pool, text, &id), 0);
			cr_assert_eq(id, i + 1);
			cr_assert_str_eq(string_pool_get(pool, id), text);
		}
	}
	cr_assert_eq(string_pool_add(pool, NULL, &id), 0);
	cr_assert_eq(id, STRING_EMPTY);
	memset(large, 'x', 1000000);
	large[1000000] = '\0';
	cr_assert_eq(string_pool_add(pool, large, &id), 0);
	cr_assert_str_eq(string_pool_get(pool, id), large);
	cr_assert_eq(string_pool_count(pool), 50002);
	string_pool_free(pool);
	free(large);
}

static struct string_pool *new_pool(void)
{
	struct string_pool *pool;

	cr_assert_eq(string_pool_new(&pool), 0);
	return pool;
}

static struct stacks *new_stacks(struct string_pool *pool, bool fold)
{
	struct stacks *stacks;

	cr_assert_eq(stacks_new(pool, fold, &stacks), 0);
	return stacks;
}

static uint32_t add(struct stacks *stacks, struct frame *frames, size_t n, enum stack_end end)
{
	const struct resolved_stack resolved = {.frames = frames, .n_frames = n, .end = end};
	uint32_t stack;

	cr_assert_eq(stacks_add(stacks, &resolved, &stack), 0);
	return stack;
}

static const char *name(const struct stacks *stacks, uint32_t stack, uint32_t index)
{
	return stacks_name(stacks, stacks_frame(stacks, stacks_frames(stacks, stack)[index])->key);
}

/* Addresses and lines make stacks, functions and modules make call paths. */
Test(stacks, paths_are_by_symbol)
{
	struct string_pool *pool = new_pool();
	struct stacks *stacks = new_stacks(pool, false);
	struct frame frames[] = {{.function = "inner", .module = "/a", .file = "x.c", .line = 1, .svma = 5},
	        {.function = "main", .module = "/a", .svma = 9}};
	uint32_t first = add(stacks, frames, 2, STACK_END_BASE), second, third, other;

	cr_assert_eq(add(stacks, frames, 2, STACK_END_BASE), first);
	frames[0].line = 2;
	frames[0].svma = 6;
	second = add(stacks, frames, 2, STACK_END_BASE);
	cr_assert_neq(second, first);
	cr_assert_eq(stacks_row(stacks, second)->path, stacks_row(stacks, first)->path);
	cr_assert_eq(stacks_path(stacks, stacks_row(stacks, first)->path)->n_stacks, 2);
	cr_assert_eq(stacks_row(stacks, second)->sibling, first);
	frames[1].module = "/b";
	third = add(stacks, frames, 2, STACK_END_BASE);
	cr_assert_neq(stacks_row(stacks, third)->path, stacks_row(stacks, first)->path);
	other = add(stacks, frames, 1, STACK_END_BASE);
	cr_assert_neq(stacks_row(stacks, other)->path, stacks_row(stacks, third)->path);
	cr_assert_eq(stacks_n_paths(stacks), 3);
	stacks_free(stacks);
	string_pool_free(pool);
}

Test(stacks, names_for_what_has_none)
{
	struct string_pool *pool = new_pool();
	struct stacks *stacks = new_stacks(pool, false);
	struct frame frames[] = {{.symbol = "_Zmangled", .module = "/lib/x.so", .svma = 1},
	        {.module = "/lib/x.so", .svma = 0x1234}, {.address = 0x7f00, .svma = 0x7f00}};
	uint32_t stack = add(stacks, frames, 3, STACK_END_NO_MODULE);

	cr_assert_str_eq(name(stacks, stack, 0), "_Zmangled");
	cr_assert_str_eq(name(stacks, stack, 1), "x.so+0x1234");
	cr_assert_str_eq(name(stacks, stack, 2), "[code outside any file]");
	cr_assert_eq(stacks_row(stacks, stack)->n_frames, 4);
	cr_assert(strstr(name(stacks, stack, 3), "[incomplete stack: ") != NULL);
	cr_assert(!stacks_frame(stacks, stacks_frames(stacks, stack)[1])->named);
	cr_assert_eq(stacks_row(stacks, add(stacks, frames, 0, STACK_END_BASE))->n_frames, 1);
	stacks_free(stacks);
	string_pool_free(pool);
}

Test(stacks, folds_runs)
{
	struct frame frames[] = {{.function = "malloc", .module = "/libc"},
	        {.function = "eval", .module = "/usr/bin/python3", .ignored = true},
	        {.function = "call", .module = "/usr/bin/python3", .ignored = true}, {.function = "py::f"},
	        {.function = "eval", .module = "/usr/bin/python3", .ignored = true}, {.function = "main"}};
	struct string_pool *pool = new_pool();
	struct stacks *folded = new_stacks(pool, true), *whole = new_stacks(pool, false);
	uint32_t stack = add(folded, frames, 6, STACK_END_BASE);
	static const char *const expected[] = {"malloc", "[python3]", "py::f", "[python3]", "main"};

	cr_assert_eq(stacks_row(folded, stack)->n_frames, N_ELEMENTS(expected));
	for (uint32_t i = 0; i < N_ELEMENTS(expected); i++)
		cr_assert_str_eq(name(folded, stack, i), expected[i]);
	cr_assert_eq(stacks_row(whole, add(whole, frames, 6, STACK_END_BASE))->n_frames, 6);
	stacks_free(folded);
	stacks_free(whole);
	string_pool_free(pool);
}

#define N_COLUMNS 3

/* A random tree; every path ends in its own value. */
static struct tree *random_tree(unsigned seed)
{
	uint64_t values[N_COLUMNS];
	uint32_t labels[12];
	struct tree *tree;
	unsigned n;

	srand(seed);
	cr_assert_eq(tree_new(N_COLUMNS, &tree), 0);
	for (unsigned i = 0; i < 2000; i++) {
		n = 1 + (unsigned)rand() % 12;
		for (unsigned j = 0; j < n; j++)
			labels[j] = (unsigned)rand() % 4;
		for (unsigned j = 0; j < N_COLUMNS; j++)
			values[j] = rand() % 5 ? (uint64_t)rand() % 100 : 0;
		values[1] *= i < 1000; /* equal shares: ties */
		cr_assert_eq(tree_add(tree, labels, n, values), 0);
	}
	return tree;
}

/* No node has less than its children together, and parents come first. */
static void check_tree(const struct tree *tree)
{
	size_t n = tree_n_nodes(tree), n_children = 0;
	uint64_t *sums = calloc(n * N_COLUMNS, sizeof(*sums));
	uint32_t parent;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t c = tree_node(tree, i)->first_child; c != TREE_NONE;
		        c = tree_node(tree, c)->next_sibling) {
			cr_assert_eq(tree_node(tree, c)->parent, i);
			n_children++;
		}
		if (!i)
			continue;
		parent = tree_node(tree, i)->parent;
		cr_assert_lt(parent, i);
		for (size_t j = 0; j < N_COLUMNS; j++)
			sums[parent * N_COLUMNS + j] += tree_values(tree, i)[j];
	}
	cr_assert_eq(n_children, n - 1);
	for (uint32_t i = 0; i < n; i++)
		for (size_t j = 0; j < N_COLUMNS; j++)
			cr_assert_leq(sums[i * N_COLUMNS + j], tree_values(tree, i)[j]);
	free(sums);
}

Test(tree, keeps_the_most_important)
{
	for (unsigned seed = 1; seed < 20; seed++) {
		struct tree *tree = random_tree(seed), *whole = random_tree(seed);
		size_t n_all = tree_n_nodes(tree);
		double share, kept;
		int64_t n_pruned;

		check_tree(tree);
		cr_assert_eq(tree_prune(tree, n_all, &share), 0);
		cr_assert_eq(share, 0);
		n_pruned = tree_prune(tree, 300, &share);
		cr_assert_eq(n_pruned, (int64_t)n_all - 300);
		cr_assert_eq(tree_n_nodes(tree), 300);
		check_tree(tree);
		for (size_t i = 0; i < N_COLUMNS; i++)
			cr_assert_eq(tree_values(tree, 0)[i], tree_values(whole, 0)[i]);
		for (uint32_t i = 0; i < 300; i++) {
			kept = 0;
			for (size_t j = 0; j < N_COLUMNS; j++) {
				double own =
				        (double)tree_values(tree, i)[j] / (double)tree_values(tree, 0)[j];

				kept = own > kept ? own : kept;
			}
			cr_assert_geq(kept, share);
		}
		tree_free(tree);
		tree_free(whole);
	}
}
