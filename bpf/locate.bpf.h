/* locate.bpf.h: what an address in a file's code means: its place in the file, and the rule to unwind by.
 *
 * Both follow from the mappings and the module's rows, and are kept in a cache.
 */
#ifndef BPF_LOCATE_BPF_H
#define BPF_LOCATE_BPF_H

#include "copy.bpf.h"

/* The row of a module that holds a file offset; its rule. */
__noinline int rule_find(u32 module, u32 offset)
{
	u32 *n_rows = bpf_map_lookup_elem(&module_sizes, &module);
	void *rows = bpf_map_lookup_elem(&module_rows, &module);
	u32 low = 0, high, rule = RULE(RULE_NONE, 0, 0);

	if (!n_rows || !rows)
		return rule;
	high = *n_rows;
	for (int step = 0; step < 24; step++) {
		u32 middle = low + (high - low) / 2;
		u64 *row;

		if (low >= high)
			break;
		row = bpf_map_lookup_elem(rows, &middle);
		if (!row)
			break;
		if (RULE_OFFSET(*row) <= offset) {
			rule = *row;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return rule;
}

/* The finalizer of MurmurHash3: every bit of the result depends on every bit of the word. */
static __always_inline u64 spread(u64 word)
{
	word ^= word >> 33;
	word *= 0xff51afd7ed558ccdull;
	word ^= word >> 33;
	word *= 0xc4ceb9fe1a85ec53ull;
	return word ^ word >> 33;
}

static __always_inline struct located *located_at(u64 key)
{
	return &located_cache[BELOW(key ^ key >> 16, MAX_LOCATED)];
}

static __always_inline u64 located_check(u64 key, u64 place, u64 rule)
{
	return key ^ place ^ rule * 0x9e3779b97f4a7c15ull;
}

/* Finds out what an address means: into the walk's place and rule, and the cache. -1: in no file. */
__noinline int locate(u32 index, u64 address)
{
	struct scratch *scratch = scratch_get(index);
	struct image *image = scratch ? image_get(scratch->walk.image) : NULL;
	u32 low = 0, high;

	if (!scratch || !image)
		return -1;
	high = image->n_ranges;
	for (int step = 0; step < 11; step++) {
		u32 middle = (low + high) / 2, module;
		struct range *range = &image->ranges[BELOW(middle, MAX_IMAGE_RANGES)];
		struct walk *walk = &scratch->walk;
		u64 offset, key = address + walk->salt;
		struct located *cached = located_at(key);

		if (low >= high)
			return -1;
		if (address < range->start) {
			high = middle;
			continue;
		}
		if (address >= range->end) {
			low = middle + 1;
			continue;
		}
		module = RANGE_MODULE(range->tag);
		if (RANGE_KIND(range->tag) == RANGE_ANONYMOUS || !module)
			return -1;
		offset = address - range->start + range->file_offset;
		walk->place = spread((u64)module << 32 ^ offset);
		walk->rule = rule_find(module, offset);
		/* Another image by now? Then what was read must not be kept for this one. */
		if (*(volatile u32 *)&image->version != walk->version)
			return -1;
		cached->key = key;
		cached->place = walk->place;
		cached->rule = walk->rule;
		cached->check = located_check(key, walk->place, walk->rule);
		return 0;
	}
	return -1;
}

#endif
