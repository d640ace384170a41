/* tree.c: a prefix tree of call paths. */
#include "export/tree.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map64.h"

struct tree {
	size_t n_columns;
	struct tree_node *nodes;
	size_t n_nodes, n_nodes_allocated;
	uint64_t *values; /* n_columns for each node */
	size_t n_values_allocated;
	struct map64 children; /* parent << 32 | label → node */
};

static int add_node(struct tree *tree, uint32_t parent, uint32_t label, uint32_t *ret_node)
{
	struct tree_node *node;
	int error;

	if (tree->n_nodes >= TREE_NONE - 1)
		return -E2BIG;
	error = GROW_BY_ONE(tree->nodes, tree->n_nodes_allocated, tree->n_nodes);
	if (!error)
		error = grow_array(&tree->values, &tree->n_values_allocated,
		        (tree->n_nodes + 1) * tree->n_columns, sizeof(*tree->values));
	if (error < 0)
		return error;
	*ret_node = (uint32_t)tree->n_nodes;
	node = &tree->nodes[tree->n_nodes];
	*node = (struct tree_node){
	        .label = label, .parent = parent, .first_child = TREE_NONE, .next_sibling = TREE_NONE};
	for (size_t i = 0; i < tree->n_columns; i++)
		tree->values[tree->n_nodes * tree->n_columns + i] = 0;
	tree->n_nodes++;
	return 0;
}

int tree_new(size_t n_columns, struct tree **ret_tree)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	uint32_t root;

	if (!tree)
		return -ENOMEM;
	tree->n_columns = n_columns;
	if (add_node(tree, TREE_NONE, 0, &root) < 0) {
		tree_free(tree);
		return -ENOMEM;
	}
	*ret_tree = tree;
	return 0;
}

static void add_values(struct tree *tree, uint32_t node, const uint64_t *values)
{
	for (size_t i = 0; i < tree->n_columns; i++)
		tree->values[node * tree->n_columns + i] += values[i];
}

static int find_child(struct tree *tree, uint32_t parent, uint32_t label, uint32_t *ret_node)
{
	uint64_t key = (uint64_t)parent << 32 | label;
	uint32_t node = map64_find(&tree->children, key);
	int error;

	if (node == MAP64_NONE) {
		error = add_node(tree, parent, label, &node);
		if (!error)
			error = map64_set(&tree->children, key, node);
		if (error < 0)
			return error;
		tree->nodes[node].next_sibling = tree->nodes[parent].first_child;
		tree->nodes[parent].first_child = node;
	}
	*ret_node = node;
	return 0;
}

int tree_add(struct tree *tree, const uint32_t *labels, uint32_t n, const uint64_t *values)
{
	uint32_t node = 0;
	int error;

	add_values(tree, node, values);
	while (n-- > 0) {
		error = find_child(tree, node, labels[n], &node);
		if (error < 0)
			return error;
		add_values(tree, node, values);
	}
	return 0;
}

struct importance {
	double share;
	uint32_t node;
};

/* Parents first among equals, so that what is kept is a tree. */
static int compare_importance(const void *left, const void *right)
{
	const struct importance *a = left, *b = right;

	if (a->share != b->share)
		return a->share > b->share ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static double share_of(const struct tree *tree, uint32_t node)
{
	double largest = 0, share;
	uint64_t whole;

	for (size_t i = 0; i < tree->n_columns; i++) {
		whole = tree->values[i];
		share = whole ? (double)tree->values[node * tree->n_columns + i] / (double)whole : 0;
		if (share > largest)
			largest = share;
	}
	return largest;
}

/* Moves the kept nodes together; parents come before their children, so one pass does. */
static void compact(struct tree *tree, uint32_t *places)
{
	uint32_t n = 0, parent;

	for (uint32_t node = 0; node < tree->n_nodes; node++) {
		if (places[node] == TREE_NONE)
			continue;
		parent = node ? places[tree->nodes[node].parent] : TREE_NONE;
		places[node] = n;
		tree->nodes[n] = (struct tree_node){.label = tree->nodes[node].label,
		        .parent = parent,
		        .first_child = TREE_NONE,
		        .next_sibling = TREE_NONE};
		for (size_t i = 0; i < tree->n_columns; i++)
			tree->values[n * tree->n_columns + i] = tree->values[node * tree->n_columns + i];
		if (n) {
			tree->nodes[n].next_sibling = tree->nodes[parent].first_child;
			tree->nodes[parent].first_child = n;
		}
		n++;
	}
	tree->n_nodes = n;
}

int64_t tree_prune(struct tree *tree, size_t max_nodes, double *ret_share)
{
	size_t n_before = tree->n_nodes, i;
	CLEANUP_FREE struct importance *ranked = NULL;
	CLEANUP_FREE uint32_t *places = NULL;

	*ret_share = 0;
	if (tree->n_nodes <= max_nodes || !max_nodes)
		return 0;
	ranked = calloc(tree->n_nodes, sizeof(*ranked));
	places = calloc(tree->n_nodes, sizeof(*places));
	if (!ranked || !places)
		return -ENOMEM;
	for (i = 0; i < tree->n_nodes; i++)
		ranked[i] = (struct importance){.share = share_of(tree, (uint32_t)i), .node = (uint32_t)i};
	qsort(ranked, tree->n_nodes, sizeof(*ranked), compare_importance);
	*ret_share = ranked[max_nodes].share;
	for (i = max_nodes; i < tree->n_nodes; i++)
		places[ranked[i].node] = TREE_NONE;
	places[0] = 0;
	compact(tree, places);
	map64_deinit(
	        &tree->children); /* what follows would not find pruned nodes: nothing may be added now */
	return (int64_t)(n_before - tree->n_nodes);
}

size_t tree_n_nodes(const struct tree *tree)
{
	return tree->n_nodes;
}

const struct tree_node *tree_node(const struct tree *tree, uint32_t node)
{
	return &tree->nodes[node];
}

const uint64_t *tree_values(const struct tree *tree, uint32_t node)
{
	return &tree->values[node * tree->n_columns];
}

struct tree *tree_free(struct tree *tree)
{
	if (!tree)
		return NULL;
	free(tree->nodes);
	free(tree->values);
	map64_deinit(&tree->children);
	free(tree);
	return NULL;
}
