/* overlay.c: what lay at an address at a time, where later ranges cover earlier ones. */
#include "resolve/overlay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/grow.h"

/* Ranges that cover the whole of a node's span and not that of its parent, by time. */
struct node {
	uint32_t *ranges; /* indices */
	size_t n_ranges;
	size_t n_allocated;
};

struct overlay {
	struct overlay_range *ranges; /* by time, stable */
	size_t n_ranges;
	uint64_t *bounds; /* all starts and ends, sorted, distinct: bounds[i] starts leaf i */
	size_t n_bounds;
	struct node *nodes; /* a binary heap: the children of i are 2i and 2i + 1; leaf i is n_bounds + i */
};

struct ordered_range {
	struct overlay_range range;
	size_t order;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct ordered_range *left = a, *right = b;

	if (left->range.time != right->range.time)
		return left->range.time < right->range.time ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

static int compare_bounds(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static int copy_ranges(struct overlay *overlay, const struct overlay_range *ranges, size_t n_ranges)
{
	CLEANUP_FREE struct ordered_range *ordered = calloc(n_ranges + 1, sizeof(ordered[0]));

	overlay->ranges = calloc(n_ranges + 1, sizeof(overlay->ranges[0]));
	if (!ordered || !overlay->ranges)
		return -ENOMEM;
	for (size_t i = 0; i < n_ranges; i++) {
		if (ranges[i].start < ranges[i].end)
			ordered[overlay->n_ranges++] = (struct ordered_range){ranges[i], i};
	}
	qsort(ordered, overlay->n_ranges, sizeof(ordered[0]), compare_ranges);
	for (size_t i = 0; i < overlay->n_ranges; i++)
		overlay->ranges[i] = ordered[i].range;
	return 0;
}

static int collect_bounds(struct overlay *overlay)
{
	size_t n = 0;

	overlay->bounds = calloc(2 * overlay->n_ranges + 1, sizeof(overlay->bounds[0]));
	if (!overlay->bounds)
		return -ENOMEM;
	for (size_t i = 0; i < overlay->n_ranges; i++) {
		overlay->bounds[2 * i] = overlay->ranges[i].start;
		overlay->bounds[2 * i + 1] = overlay->ranges[i].end;
	}
	qsort(overlay->bounds, 2 * overlay->n_ranges, sizeof(overlay->bounds[0]), compare_bounds);
	for (size_t i = 0; i < 2 * overlay->n_ranges; i++) {
		if (n == 0 || overlay->bounds[n - 1] != overlay->bounds[i])
			overlay->bounds[n++] = overlay->bounds[i];
	}
	overlay->n_bounds = n;
	return 0;
}

/* The number of bounds not above `address`. */
static size_t count_bounds(const struct overlay *overlay, uint64_t address)
{
	size_t low = 0, high = overlay->n_bounds;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (overlay->bounds[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int append(struct node *node, uint32_t range)
{
	int r = GROW_BY_ONE(node->ranges, node->n_allocated, node->n_ranges);

	if (r < 0)
		return r;
	node->ranges[node->n_ranges++] = range;
	return 0;
}

/* Puts a range into the few nodes that together span it. */
static int insert(struct overlay *overlay, uint32_t range)
{
	size_t low = overlay->n_bounds + count_bounds(overlay, overlay->ranges[range].start) - 1;
	size_t high = overlay->n_bounds + count_bounds(overlay, overlay->ranges[range].end) - 1;
	int r = 0;

	for (; low < high && r == 0; low /= 2, high /= 2) {
		if (low % 2 == 1)
			r = append(&overlay->nodes[low++], range);
		if (high % 2 == 1 && r == 0)
			r = append(&overlay->nodes[--high], range);
	}
	return r;
}

static void cleanup_overlay(struct overlay **overlay)
{
	overlay_free(*overlay);
}

int overlay_new(const struct overlay_range *ranges, size_t n_ranges, struct overlay **ret_overlay)
{
	CLEANUP(cleanup_overlay) struct overlay *overlay = calloc(1, sizeof(*overlay));
	int r;

	if (!overlay || n_ranges > UINT32_MAX)
		return -ENOMEM;
	r = copy_ranges(overlay, ranges, n_ranges);
	if (r == 0)
		r = collect_bounds(overlay);
	if (r < 0)
		return r;
	overlay->nodes = calloc(2 * overlay->n_bounds + 1, sizeof(overlay->nodes[0]));
	if (!overlay->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < overlay->n_ranges && r == 0; i++)
		r = insert(overlay, (uint32_t)i);
	if (r < 0)
		return r;
	*ret_overlay = STEAL_PTR(overlay);
	return 0;
}

/* The last of the node's ranges that holds at `time`: *ret_range if there is one, and it is later than that.
 */
static void find_in_node(
        const struct overlay *overlay, const struct node *node, uint64_t time, int64_t *ret_range)
{
	size_t low = 0, high = node->n_ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (overlay->ranges[node->ranges[middle]].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && (int64_t)node->ranges[low - 1] > *ret_range)
		*ret_range = node->ranges[low - 1];
}

const struct overlay_range *overlay_find(const struct overlay *overlay, uint64_t address, uint64_t time)
{
	size_t n = count_bounds(overlay, address);
	int64_t found = -1;

	if (n == 0)
		return NULL;
	for (size_t i = overlay->n_bounds + n - 1; i > 0; i /= 2)
		find_in_node(overlay, &overlay->nodes[i], time, &found);
	return found < 0 ? NULL : &overlay->ranges[found];
}

struct overlay *overlay_free(struct overlay *overlay)
{
	if (!overlay)
		return NULL;
	for (size_t i = 0; overlay->nodes && i < 2 * overlay->n_bounds; i++)
		free(overlay->nodes[i].ranges);
	free(overlay->nodes);
	free(overlay->bounds);
	free(overlay->ranges);
	free(overlay);
	return NULL;
}
