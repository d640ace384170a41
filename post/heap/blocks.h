/* blocks.h: the live blocks of one process image, cheap to fork.
 *
 * A server that forks 200 workers with a million live blocks must not need 200 tables. A fork freezes the
 * blocks in a layer that parent and child share, and gives each a table of its own for what changes later.
 */
#ifndef POST_HEAP_BLOCKS_H
#define POST_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/table.h"

struct layer;

struct layer_ref {
	struct layer *layer;
	bool inherited; /* its blocks count in another process */
};

/* All zero: no blocks. */
struct blocks {
	struct table top;         /* hides what the layers say of the same address */
	struct layer_ref *layers; /* oldest first; a newer one hides older ones */
	size_t n_layers;
	size_t n_layers_allocated;
};

/* Adds a block. Whether there was one at its address before is put into *ret_had, the block then into
 * *ret_old. 0 or -ENOMEM. */
int blocks_put(
        struct blocks *blocks, const struct heap_block *block, bool *ret_had, struct heap_block *ret_old);

/* Removes the block at an address, likewise. 0 or -ENOMEM. */
int blocks_take(struct blocks *blocks, uint64_t addr, bool *ret_had, struct heap_block *ret_old);

/* Makes *ret_child (not initialized before) the child's copy: the same addresses, all inherited. 0 or
 * -ENOMEM. */
int blocks_fork(struct blocks *parent, struct blocks *ret_child);

/* Calls `visit` with every block. */
void blocks_each(const struct blocks *blocks, void (*visit)(void *context, const struct heap_block *block),
        void *context);

void blocks_deinit(struct blocks *blocks);

#endif
