/* blocks.c: the live blocks of one process image. */
#include "heap/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

struct layer {
	struct table table;
	unsigned n_refs;
};

static struct layer *layer_unref(struct layer *layer)
{
	if (layer && --layer->n_refs == 0) {
		table_deinit(&layer->table);
		free(layer);
	}
	return NULL;
}

static struct heap_block as_inherited(uint64_t addr)
{
	return (struct heap_block){.addr = addr, .time = HEAP_TIME_INHERITED};
}

/* What an entry of a layer is to the process that refers to the layer. */
static struct heap_block entry_through(const struct layer_ref *ref, const struct heap_block *entry)
{
	return ref->inherited && entry->time != TABLE_TIME_GONE ? as_inherited(entry->addr) : *entry;
}

/* Looks in the layers below `n_layers`, newest first. */
static bool find_below(
        const struct blocks *blocks, size_t n_layers, uint64_t addr, struct heap_block *ret_block)
{
	while (n_layers-- > 0) {
		const struct layer_ref *ref = &blocks->layers[n_layers];
		const struct heap_block *entry = table_find(&ref->layer->table, addr);

		if (!entry)
			continue;
		*ret_block = entry_through(ref, entry);
		return entry->time != TABLE_TIME_GONE;
	}
	return false;
}

int blocks_put(
        struct blocks *blocks, const struct heap_block *block, bool *ret_had, struct heap_block *ret_old)
{
	size_t n_before = blocks->top.n;
	struct heap_block *entry = table_at(&blocks->top, block->addr);

	if (!entry)
		return -ENOMEM;
	if (blocks->top.n != n_before) {
		*ret_had = find_below(blocks, blocks->n_layers, block->addr, ret_old);
	} else {
		*ret_had = entry->time != TABLE_TIME_GONE;
		*ret_old = *entry;
	}
	*entry = *block;
	return 0;
}

int blocks_take(struct blocks *blocks, uint64_t addr, bool *ret_had, struct heap_block *ret_old)
{
	struct heap_block *entry = table_find(&blocks->top, addr);
	struct heap_block below;
	bool is_below = find_below(blocks, blocks->n_layers, addr, &below);

	*ret_had = entry ? entry->time != TABLE_TIME_GONE : is_below;
	if (!*ret_had)
		return 0;
	*ret_old = entry ? *entry : below;
	if (!is_below) {
		table_remove(&blocks->top, entry);
		return 0;
	}
	if (!entry)
		entry = table_at(&blocks->top, addr);
	if (!entry)
		return -ENOMEM;
	entry->time = TABLE_TIME_GONE;
	return 0;
}

/* Copies the entries of one layer over those in `table`. Entries that hide nothing any more are left out. */
static int merge_into(struct table *table, const struct layer_ref *ref, bool is_oldest)
{
	size_t at = 0;

	for (const struct heap_block *entry; (entry = table_each(&ref->layer->table, &at));) {
		struct heap_block *copy;

		if (is_oldest && entry->time == TABLE_TIME_GONE) {
			copy = table_find(table, entry->addr);
			if (copy)
				table_remove(table, copy);
			continue;
		}
		copy = table_at(table, entry->addr);
		if (!copy)
			return -ENOMEM;
		*copy = entry_through(ref, entry);
	}
	return 0;
}

static int layer_new(struct layer **ret_layer)
{
	struct layer *layer = calloc(1, sizeof(*layer));

	if (!layer)
		return -ENOMEM;
	layer->n_refs = 1;
	*ret_layer = layer;
	return 0;
}

/* Makes one of the two newest layers. */
static int merge_newest(struct blocks *blocks)
{
	struct layer_ref *older = &blocks->layers[blocks->n_layers - 2], *newer = older + 1;
	bool is_oldest = blocks->n_layers == 2;
	struct layer *merged;
	int r = layer_new(&merged);

	if (r < 0)
		return r;
	r = merge_into(&merged->table, older, is_oldest);
	if (r >= 0)
		r = merge_into(&merged->table, newer, is_oldest);
	if (r < 0) {
		layer_unref(merged);
		return r;
	}
	layer_unref(older->layer);
	layer_unref(newer->layer);
	*older = (struct layer_ref){.layer = merged};
	blocks->n_layers--;
	return 0;
}

/* Puts what is in the top table into a layer. Sizes of layers at least double from newer to older ones: there
 * are few, and each entry is copied few times. */
static int freeze(struct blocks *blocks)
{
	struct layer *layer;
	int r;

	if (blocks->top.n == 0)
		return 0;
	r = GROW_BY_ONE(blocks->layers, blocks->n_layers_allocated, blocks->n_layers);
	if (r >= 0)
		r = layer_new(&layer);
	if (r < 0)
		return r;
	layer->table = blocks->top;
	blocks->top = (struct table){0};
	blocks->layers[blocks->n_layers++] = (struct layer_ref){.layer = layer};
	while (blocks->n_layers > 1) {
		const struct layer_ref *newest = &blocks->layers[blocks->n_layers - 1];

		if (newest[-1].layer->table.n / 2 >= newest->layer->table.n)
			break;
		r = merge_newest(blocks);
		if (r < 0)
			return r;
	}
	return 0;
}

int blocks_fork(struct blocks *parent, struct blocks *ret_child)
{
	struct blocks child = {0};
	int r = freeze(parent);

	if (r >= 0)
		r = grow_array(
		        &child.layers, &child.n_layers_allocated, parent->n_layers, sizeof(child.layers[0]));
	if (r < 0)
		return r;
	for (size_t i = 0; i < parent->n_layers; i++) {
		child.layers[i] = (struct layer_ref){.layer = parent->layers[i].layer, .inherited = true};
		child.layers[i].layer->n_refs++;
	}
	child.n_layers = parent->n_layers;
	*ret_child = child;
	return 0;
}

/* Whether something newer than layer `n` says what became of the address. */
static bool is_hidden(const struct blocks *blocks, size_t n, uint64_t addr)
{
	for (size_t i = n + 1; i < blocks->n_layers; i++)
		if (table_find(&blocks->layers[i].layer->table, addr))
			return true;
	return table_find(&blocks->top, addr);
}

void blocks_each(const struct blocks *blocks, void (*visit)(void *context, const struct heap_block *block),
        void *context)
{
	const struct heap_block *entry;
	size_t at = 0;

	while ((entry = table_each(&blocks->top, &at)))
		if (entry->time != TABLE_TIME_GONE)
			visit(context, entry);
	for (size_t i = 0; i < blocks->n_layers; i++) {
		const struct layer_ref *ref = &blocks->layers[i];

		for (at = 0; (entry = table_each(&ref->layer->table, &at));) {
			struct heap_block block = entry_through(ref, entry);

			if (entry->time != TABLE_TIME_GONE && !is_hidden(blocks, i, entry->addr))
				visit(context, &block);
		}
	}
}

void blocks_deinit(struct blocks *blocks)
{
	table_deinit(&blocks->top);
	while (blocks->n_layers > 0)
		layer_unref(blocks->layers[--blocks->n_layers].layer);
	free(blocks->layers);
	*blocks = (struct blocks){0};
}
