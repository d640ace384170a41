/* walk.bpf.h: the exact identity of a stack: its call path, found by unwinding the copy.
 *
 * Each frame's caller follows from the module's own rules (compiled from .eh_frame when it was first mapped). The
 * identity is the sequence of modules and file offsets, so it is the same in every process, at every address and
 * in every generation of mappings.
 */
#ifndef BPF_WALK_BPF_H
#define BPF_WALK_BPF_H

#include "copy.bpf.h"

#if defined(__TARGET_ARCH_x86)

/* struct ucontext, arch/x86/include/uapi/asm/sigcontext.h: words from its start. */
#define UCONTEXT_FP 15
#define UCONTEXT_SP 20
#define UCONTEXT_IP 21

#define MAX_FRAMES 1024

enum walk_end {
	WALK_GOES_ON,
	WALK_COMPLETE,    /* at the thread's first frame */
	WALK_LEFT_COPY,   /* the caller is beyond the copy: a path as long as the copy shows it */
	WALK_UNSUPPORTED, /* no rule, no simple rule, no mapping */
	WALK_MET,         /* at the return address that was looked for */
	WALK_MISSED,      /* beyond it */
};

struct walk {
	struct scratch *scratch;
	u64 pc, sp, fp;
	u64 hash;
	u64 salt; /* of the keys: the generation, spread */
	u64 stack_end;
	u64 slot;  /* of a return address that is looked for, or all ones */
	u32 index; /* of scratch */
	u32 image;
	u32 exact; /* pc is where the thread is, not behind a call */
	u32 fp_lost;
	u32 end; /* enum walk_end */
};

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

static __always_inline u64 located_check(u64 key, u64 value, u64 module)
{
	return key ^ value * 0x9e3779b97f4a7c15ull ^ module * 0xc2b2ae3d27d4eb4full;
}

/* Finds out what an address means: into scratch->module and ->located, and the cache. -1: in no file. */
__noinline int locate(u32 index, u32 image_index, u64 address, u64 key)
{
	struct scratch *scratch = scratch_get(index);
	struct image *image = image_get(image_index);
	u32 slot = BELOW(key * 0x9e3779b97f4a7c15ull >> 40, MAX_LOCATED), low = 0, high;
	struct located *cached = bpf_map_lookup_elem(&located_cache, &slot);

	if (!scratch || !image || !cached)
		return -1;
	high = image->n_ranges;
	for (int step = 0; step < 11; step++) {
		u32 middle = (low + high) / 2;
		struct range *range = &image->ranges[BELOW(middle, MAX_IMAGE_RANGES)];
		u64 offset;

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
		scratch->module = RANGE_MODULE(range->tag);
		if (RANGE_KIND(range->tag) == RANGE_ANONYMOUS || !scratch->module)
			return -1;
		offset = address - range->start + range->file_offset;
		scratch->located = offset << 32 | (u32)rule_find(scratch->module, offset);
		cached->key = key;
		cached->value = scratch->located;
		cached->module = scratch->module;
		cached->check = located_check(key, scratch->located, scratch->module);
		return 0;
	}
	return -1;
}

/* A word of the stack; false where it lies beyond the copy, after that has been extended as far as it goes. */
static __always_inline int walk_word(struct walk *walk, u64 address, u64 *ret_word)
{
	struct record_stack *record = &walk->scratch->record;
	u64 offset = address - record->sp;

	if (offset >= STACK_BUDGET_MAX || (offset & 7))
		return 0;
	if (offset + 8 > record->n_bytes) {
		copy_more(walk->index, walk->stack_end, record->n_bytes < 8192 ? 8192 : STACK_BUDGET_MAX);
		if (offset + 8 > record->n_bytes)
			copy_rest(walk->index, walk->stack_end);
		if (offset + 8 > record->n_bytes)
			return 0;
	}
	*ret_word = *stack_word(walk->scratch, offset / 8);
	return 1;
}

static __always_inline long walk_ends(struct walk *walk, enum walk_end end)
{
	walk->end = end;
	return 1;
}

/* Over a signal frame to what it interrupted, which may be on another stack. */
static __always_inline long walk_signal(struct walk *walk)
{
	u64 context = walk->sp, sp;

	if (!walk_word(walk, context + UCONTEXT_SP * 8, &sp) ||
		!walk_word(walk, context + UCONTEXT_IP * 8, &walk->pc) ||
		!walk_word(walk, context + UCONTEXT_FP * 8, &walk->fp))
		return walk_ends(walk, WALK_LEFT_COPY);
	walk->fp_lost = 0;
	walk->exact = 1;
	walk->sp = sp;
	return 0;
}

/* The CFA by the rule; 0 where there is none to be had. */
static __always_inline u64 walk_cfa(struct walk *walk, u32 rule)
{
	u64 cfa = 0;

	switch (RULE_KIND(rule)) {
	case RULE_SP:
		return walk->sp + RULE_CFA(rule) * 8;
	case RULE_FP_BASED:
		return walk->fp_lost ? 0 : walk->fp + RULE_CFA(rule) * 8;
	case RULE_DEREF:
		if (!walk->fp_lost && walk_word(walk, walk->fp - RULE_CFA(rule) * 8, &cfa))
			return cfa;
		return 0;
	case RULE_PLT:
		return walk->sp + 8 + ((walk->pc & 15) >= 11) * 8;
	}
	return 0;
}

static __always_inline int walk_restore_fp(struct walk *walk, u32 rule, u64 cfa)
{
	u32 words = RULE_FP(rule);
	u64 fp;

	if (words == RULE_FP_SAME)
		return 1;
	if (words == RULE_FP_LOST) {
		walk->fp_lost = 1;
		return 1;
	}
	if (!walk_word(walk, words == RULE_FP_HERE ? walk->fp : cfa - words * 8, &fp))
		return 0;
	walk->fp = fp;
	return 1;
}

/* One frame: adds it to the identity and goes to its caller. */
static long walk_step(u32 i, struct walk *walk)
{
	u64 address = walk->pc - !walk->exact, key = address + walk->salt, value, module;
	u32 slot = BELOW(key * 0x9e3779b97f4a7c15ull >> 40, MAX_LOCATED), rule;
	struct located *cached = bpf_map_lookup_elem(&located_cache, &slot);
	u64 cfa;

	if (!cached)
		return walk_ends(walk, WALK_UNSUPPORTED);
	value = cached->value;
	module = cached->module;
	if (cached->key != key || cached->check != located_check(key, value, module)) {
		if (locate(walk->index, walk->image, address, key))
			return walk_ends(walk, WALK_UNSUPPORTED);
		value = walk->scratch->located;
		module = walk->scratch->module;
	}
	walk->hash = mix(walk->hash, module << 33 | (u64)walk->exact << 32 | value >> 32);
	/* At the probe SP is what it was at entry, whatever the row there says. */
	rule = i ? value : RULE(RULE_SP, 1, RULE_FP_SAME);
	if (RULE_KIND(rule) == RULE_END)
		return walk_ends(walk, WALK_COMPLETE);
	if (RULE_KIND(rule) == RULE_SIGNAL)
		return walk_signal(walk);
	cfa = walk_cfa(walk, rule);
	if (cfa <= walk->sp)
		return walk_ends(walk, WALK_UNSUPPORTED);
	if (cfa - 8 >= walk->slot)
		return walk_ends(walk, cfa - 8 == walk->slot ? WALK_MET : WALK_MISSED);
	if (!walk_word(walk, cfa - 8, &walk->pc) || !walk_restore_fp(walk, rule, cfa))
		return walk_ends(walk, WALK_LEFT_COPY);
	walk->sp = cfa;
	walk->exact = 0;
	return walk->pc ? 0 : walk_ends(walk, WALK_COMPLETE);
}

/* Does the path of the copied stack go through the frame whose return address is at `slot`? Where the walk ends before
 * it gets there, 1: nothing says no. */
__noinline int path_meets(u32 index, u32 image_index, u64 ip, u64 fp, u64 slot)
{
	struct scratch *scratch = scratch_get(index);
	struct image *image = image_get(image_index);
	struct walk walk = {.scratch = scratch, .index = index, .image = image_index, .exact = 1};

	if (!scratch || !image || image->unusable)
		return 1;
	/* No further than the frame: what lies above does not matter. */
	walk.stack_end = slot + 8;
	walk.salt = image->generation * 0x9e3779b97f4a7c15ull;
	walk.slot = slot;
	walk.pc = ip;
	walk.fp = fp;
	walk.sp = scratch->record.sp;
	bpf_loop(MAX_FRAMES, walk_step, &walk, 0);
	return walk.end != WALK_MISSED;
}

/* Fills the record's hash with the identity of the call path. -1: the stack has none that the rules can give. */
__noinline int identity_path(u32 index, u32 image_index, u64 ip, u64 fp, u64 stack_end)
{
	struct scratch *scratch = scratch_get(index);
	struct image *image = image_get(image_index);
	struct walk walk = {.scratch = scratch, .index = index, .image = image_index, .exact = 1};
	u32 version;

	if (!scratch || !image || image->unusable)
		return -1;
	version = *(volatile u32 *)&image->version;
	if (!image_is_current(image_index))
		return -1;
	walk.salt = image->generation * 0x9e3779b97f4a7c15ull;
	walk.stack_end = stack_end;
	walk.slot = ~0ull;
	walk.pc = ip;
	walk.fp = fp;
	walk.sp = scratch->record.sp;
	bpf_loop(MAX_FRAMES, walk_step, &walk, 0);
	if (walk.end == WALK_UNSUPPORTED || *(volatile u32 *)&image->version != version)
		return -1;
	scratch->record.hash = mix(walk.hash, walk.end) ?: 1;
	return 0;
}

#else

static __always_inline int path_meets(u32 index, u32 image_index, u64 ip, u64 fp, u64 slot)
{
	return 1;
}

/* The rules are of x86-64 so far; elsewhere code pointers serve. */
static __always_inline int identity_path(u32 index, u32 image_index, u64 ip, u64 fp, u64 stack_end)
{
	return -1;
}

#endif

#endif
