/* tree.h: call paths as one tree from the outermost frame inwards, and its most important part. */
#ifndef POST_EXPORT_TREE_H
#define POST_EXPORT_TREE_H

#include <stddef.h>
#include <stdint.h>

/* Node 0 is the root. A node's children come after it. */
struct tree_node {
	uint32_t label;
	uint32_t parent;
	uint32_t first_child; /* TREE_NONE: no child */
	uint32_t next_sibling;
};

#define TREE_NONE UINT32_MAX

struct tree;

/* Each node has n_columns values. 0 or -ENOMEM. */
int tree_new(size_t n_columns, struct tree **ret_tree);

/* Adds `values` to the node of the path labels[n - 1] (outermost) … labels[0] and to all above it.
 * 0, -ENOMEM or -E2BIG. */
int tree_add(struct tree *tree, const uint32_t *labels, uint32_t n, const uint64_t *values);

/* Keeps the max_nodes most important nodes; the rest becomes part of what its callers did themselves. A node
 * is as important as the largest share it has of any column; the parts of a diff count by the larger side, so
 * give both as columns. *ret_share is the largest share of a node that went, 0 to 1. Returns how many went,
 * or -ENOMEM. */
int64_t tree_prune(struct tree *tree, size_t max_nodes, double *ret_share);

size_t tree_n_nodes(const struct tree *tree);
const struct tree_node *tree_node(const struct tree *tree, uint32_t node);

/* The values of a node: of all paths through it. */
const uint64_t *tree_values(const struct tree *tree, uint32_t node);

/* NULL-safe; returns NULL. */
struct tree *tree_free(struct tree *tree);

#endif
