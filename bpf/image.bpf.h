/* image.bpf.h: the sorted list of executable mappings that belongs to a process. */
#ifndef BPF_IMAGE_BPF_H
#define BPF_IMAGE_BPF_H

#include "thread.bpf.h"

#define IMAGE_NONE   0xffffffffu
#define TAG_NOT_CODE (-1)
#define TAG_REMOVE   ~0ull /* image_change: nothing takes the place of what ends */

static __always_inline struct image *image_get(u32 index)
{
	return bpf_map_lookup_elem(&images, &index);
}

static __always_inline void image_unref(u32 index)
{
	struct image *image = image_get(index);

	if (image && image->references)
		__sync_fetch_and_add(&image->references, -1);
}

static __always_inline void image_ref(u32 index)
{
	struct image *image = image_get(index);

	if (image)
		__sync_fetch_and_add(&image->references, 1);
}

/* Is it still the image of the current process? Asked after its version was read: then that is the version which
 * must not change while the image is used. */
static __always_inline int image_is_current(u32 index)
{
	struct thread *thread = current_thread();
	struct process *process = thread ? process_of(thread) : NULL;

	return process && *(volatile u32 *)&process->image == index;
}

struct take_context {
	u32 start;
	u32 taken;
};

static long image_try_take(u32 i, struct take_context *context)
{
	u32 index = (context->start + i) & (MAX_IMAGES - 1);
	struct image *image = image_get(index);

	if (!image || !try_claim(&image->references))
		return 0;
	context->taken = index;
	return 1;
}

/* A free image with one reference, empty but for its contents: the caller fills it. IMAGE_NONE: none free. */
static __always_inline u32 image_take(void)
{
	struct take_context context = {
		.start = __sync_fetch_and_add(&image_cursor, 1),
		.taken = IMAGE_NONE,
	};
	struct image *image;

	bpf_loop(MAX_IMAGES, image_try_take, &context, 0);
	image = image_get(context.taken);
	if (!image)
		return IMAGE_NONE;
	__sync_fetch_and_add(&image->version, 1);
	return context.taken;
}

/* An image without ranges, for a program that has just started. */
static __always_inline u32 image_new(void)
{
	u32 index = image_take();
	struct image *image = image_get(index);

	if (!image)
		return IMAGE_NONE;
	image->n_ranges = 0;
	image->unusable = 0;
	image->generation = __sync_fetch_and_add(&generation_cursor, 1) + 1;
	image->anonymous_generation = 0;
	image->low = image->high = 0;
	image->gap_low = image->gap_high = 0;
	return index;
}

/* The kind of the range that holds `address`, RANGE_FILE or RANGE_ANONYMOUS, or TAG_NOT_CODE. */
__noinline int image_tag(u32 index, u64 address)
{
	struct image *image = image_get(index);
	u32 low = 0, high;

	if (!image)
		return TAG_NOT_CODE;
	high = image->n_ranges;
	for (int step = 0; step < 11; step++) {
		u32 middle = (low + high) / 2;
		struct range *range = &image->ranges[BELOW(middle, MAX_IMAGE_RANGES)];

		if (low >= high)
			break;
		if (address < range->start)
			high = middle;
		else if (address >= range->end)
			low = middle + 1;
		else
			return RANGE_KIND(range->tag);
	}
	return TAG_NOT_CODE;
}

/* A change of an image: what was in [start, end) ends; unless tag is TAG_REMOVE, [start, end) is a new range. */
struct change {
	u64 start, end;
	u64 tag, file_offset;
	u32 inserted;
	u32 from, to; /* images */
	u32 changed_files;
};

/* Appends one range to an image that is being made, joined with its neighbour where both are anonymous (a JIT maps
 * thousands). A function of its own to the verifier, and the count lives in the image: what the verifier cannot
 * know it cannot follow through a thousand values. */
__noinline int image_append(u32 index, u64 start, u64 end, u64 tag, u64 file_offset)
{
	struct image *image = image_get(index);
	struct range *range;
	u32 n;

	if (!image || start >= end)
		return 0;
	n = image->n_ranges;
	range = &image->ranges[BELOW(n - 1, MAX_IMAGE_RANGES)];
	if (n && RANGE_KIND(tag) == RANGE_ANONYMOUS && range->tag == tag && range->end == start) {
		range->end = image->high = end;
		return 0;
	}
	if (n >= MAX_IMAGE_RANGES) {
		image->unusable = 1;
		return 0;
	}
	if (n == 0) {
		image->low = start;
		image->gap_low = image->gap_high = start;
	} else if (start - image->high > image->gap_high - image->gap_low) {
		image->gap_low = image->high;
		image->gap_high = start;
	}
	range = &image->ranges[BELOW(n, MAX_IMAGE_RANGES)];
	range->start = start;
	range->end = image->high = end;
	range->tag = tag;
	range->file_offset = file_offset;
	image->n_ranges = n + 1;
	return 0;
}

static __always_inline void change_insert(struct change *change)
{
	if (change->inserted || change->tag == TAG_REMOVE)
		return;
	change->inserted = 1;
	image_append(change->to, change->start, change->end, change->tag, change->file_offset);
}

static long change_step(u32 i, struct change *change)
{
	struct image *from = image_get(change->from);
	struct range *range;
	u64 start, end, tag, offset;

	if (!from)
		return 1;
	if (i >= from->n_ranges) {
		change_insert(change);
		return 1;
	}
	range = &from->ranges[BELOW(i, MAX_IMAGE_RANGES)];
	start = range->start;
	end = range->end;
	tag = range->tag;
	offset = range->file_offset;
	if (end <= change->start) {
		image_append(change->to, start, end, tag, offset);
		return 0;
	}
	if (start >= change->end) {
		change_insert(change);
		image_append(change->to, start, end, tag, offset);
		return 0;
	}
	if (RANGE_KIND(tag) == RANGE_FILE)
		change->changed_files = 1;
	if (start < change->start)
		image_append(change->to, start, change->start, tag, offset);
	change_insert(change);
	if (end > change->end)
		image_append(change->to, change->end, end, tag, offset + (change->end - start));
	return 0;
}

/* Replaces the image of the process in `slot` by one with the change applied. Other threads may change it at the same time:
 * the loser starts again. */
__noinline int image_change(u32 slot, u64 start, u64 end, u64 tag, u64 file_offset)
{
	struct process *process = bpf_map_lookup_elem(&processes, &slot);

	if (!process)
		return -1;
	__sync_fetch_and_add(&layout, 1);
	for (int attempt = 0; attempt < 4; attempt++) {
		struct change change = {
			.start = start,
			.end = end,
			.tag = tag,
			.file_offset = file_offset,
			.from = process->image,
			.to = image_take(),
			.changed_files = tag != TAG_REMOVE && RANGE_KIND(tag) == RANGE_FILE,
		};
		struct image *from = image_get(change.from), *to = image_get(change.to);

		if (!to)
			break;
		if (!from) {
			image_unref(change.to);
			return 0;
		}
		to->n_ranges = 0;
		to->unusable = from->unusable;
		to->low = to->high = 0;
		to->gap_low = to->gap_high = 0;
		bpf_loop(MAX_IMAGE_RANGES + 1, change_step, &change, 0);
		to->generation = from->generation;
		to->anonymous_generation = from->anonymous_generation;
		if (change.changed_files)
			to->generation = __sync_fetch_and_add(&generation_cursor, 1) + 1;
		else
			to->anonymous_generation = __sync_fetch_and_add(&generation_cursor, 1) + 1;
		if (__sync_val_compare_and_swap(&process->image, change.from, change.to) == change.from) {
			image_unref(change.from);
			return 0;
		}
		image_unref(change.to);
	}
	struct image *image = image_get(process->image);

	if (image)
		image->unusable = 1;
	return -1;
}

/* Does any range overlap [start, end)? */
__noinline int image_overlaps(u32 index, u64 start, u64 end)
{
	struct image *image = image_get(index);
	u32 low = 0, high;

	if (!image)
		return 0;
	high = image->n_ranges;
	for (int step = 0; step < 11; step++) {
		u32 middle = (low + high) / 2;
		struct range *range = &image->ranges[BELOW(middle, MAX_IMAGE_RANGES)];

		if (low >= high)
			break;
		if (range->end <= start)
			low = middle + 1;
		else if (range->start >= end)
			high = middle;
		else
			return 1;
	}
	return 0;
}

/* Do ranges of that kind hold both ends of [start, end)? */
static __always_inline int image_holds(u32 index, u64 start, u64 end, int kind)
{
	return image_tag(index, start) == kind && image_tag(index, end - 1) == kind;
}

#endif
