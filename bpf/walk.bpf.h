/* walk.bpf.h: the exact identity of a stack: its call path, found by unwinding the copy.
 *
 * Each frame's caller follows from the module's own rules (compiled from .eh_frame when it was first mapped). The
 * identity is the sequence of modules and file offsets, so it is the same in every process, at every address and
 * in every generation of mappings.
 */
#ifndef BPF_WALK_BPF_H
#define BPF_WALK_BPF_H

#include "locate.bpf.h"
#include "loop.bpf.h"
#include "step.bpf.h"

#if defined(__TARGET_ARCH_x86)

#define MAX_FRAMES (STACK_BUDGET_MAX / 8)

/* Part of the place of a frame where the thread itself is, not one that a call returns to. */
#define PLACE_EXACT 0x8cb92ba72f3d8dd7ull

/* An odd number without a pattern: each frame counts by where it stands in the path. */
#define PATH_STEP 0xd6e8feb86659fd93ull

/* A word of the copy, at an offset that was found to be within it. As an instruction: the compiler takes what it
 * cannot see to be aligned for not aligned. */
static __always_inline u64 word_at(const u8 *bytes, u64 offset)
{
	u64 word;

	asm volatile("%1 &= %3\n\t%1 += %2\n\t%0 = *(u64 *)(%1 + 0)"
		     : "=r"(word), "+r"(offset) : "r"(bytes), "i"(STACK_BUDGET_MAX - 8));
	return word;
}

#define TRAIL_HEAD 0
#define TRAIL_SINK sizeof(struct frame)
#define TRAIL_USED (2 * sizeof(struct frame)) /* of an empty one */

static __always_inline struct frame *trail_frame(struct trail *trail, u64 at)
{
	asm volatile("%0 &= %1" : "+r"(at) : "i"((TRAIL_FRAMES - 1) * sizeof(struct frame)));
	return (struct frame *)((u8 *)trail->frames + at);
}

static __always_inline void trail_clear(struct trail *trail, u64 salt)
{
	trail->salt = salt;
	trail->n_bytes = TRAIL_USED;
	trail->frames[0].next = 0;
}

/* A walk while it goes on: what of the scratch buffer is at hand. */
struct round {
	struct scratch *scratch;
	u64 pc, sp, fp;
	u64 hash;
	u64 base;  /* the address of the copy */
	u64 limit; /* offset of its last word, or of the last one that matters */
	u64 last;  /* frame of the trail that the next one is put behind */
	u64 ahead; /* the frame that is next, if the stack is still as it was */
	u64 exact;
	u64 met; /* the frame is of the trail already, and it is `last` */
	u32 index; /* of scratch */
};

static __always_inline void set_limit(struct round *round)
{
	u64 last = round->scratch->record.n_bytes - 8, slot = round->scratch->walk.slot - 8 - round->base;

	round->limit = slot < last ? slot : last;
}

/* Most of a stack is as it was at the thread's last capture. Where a frame of the last walk is met again, the frames
 * behind it are followed as long as the words that led from one to the next are the same: then so is the step, whatever
 * its rule, and nothing has to be looked up. */
static __always_inline void follow_trail(struct round *round)
{
	struct trail *trail = &round->scratch->trail;
	const u8 *bytes = round->scratch->bytes;
	u64 zero = unknown_zero, hash = round->hash, last = round->ahead, limit = round->limit;
	u64 base = round->base;
	struct frame *frame = trail_frame(trail, last);

	if (frame->sp != round->sp || frame->pc != round->pc || frame->fp != round->fp || round->exact)
		return;
	trail_frame(trail, round->last)->next = last;
	for (;;) {
		struct frame *next;
		u64 at, offset, saved;

		FORGET(hash, zero);
		FORGET(last, zero);
		MAY_LEAVE_TO(changed);
		frame = trail_frame(trail, last);
		at = frame->next;
		next = trail_frame(trail, at);
		offset = next->sp - 8 - base;
		saved = frame->fp_at - base;
		if (offset > limit || saved > limit || word_at(bytes, offset) != next->pc ||
			word_at(bytes, saved) != frame->fp_word)
			break;
		hash = hash * PATH_STEP + frame->place;
		last = at;
	}
changed:
	frame = trail_frame(trail, last);
	round->hash = hash;
	round->last = last;
	round->ahead = frame->next;
	round->pc = frame->pc;
	round->sp = frame->sp;
	round->fp = frame->fp;
	round->met = 1;
}

/* A step by the rule that most code has: the CFA is at a distance from SP or FP, and two words are read at most. */
static __always_inline int step_simply(struct round *round, u32 rule, struct frame *frame)
{
	const u8 *bytes = round->scratch->bytes;
	u32 kind = RULE_KIND(rule), words = RULE_FP(rule);
	u64 cfa = (kind == RULE_SP ? round->sp : round->fp) + RULE_CFA(rule) * 8, offset = cfa - 8 - round->base;
	u64 saved = words ? offset + 8 - words * 8 : offset, pc, word;

	if ((kind != RULE_SP && (kind != RULE_FP_BASED || round->fp == FP_LOST)) || words > RULE_FP_MAX ||
		cfa <= round->sp || offset > round->limit || saved > round->limit || (offset & 7))
		return 0;
	pc = word_at(bytes, offset);
	word = word_at(bytes, saved);
	frame->fp_at = round->base + saved;
	frame->fp_word = word;
	if (words)
		round->fp = word;
	round->pc = pc;
	round->sp = cfa;
	return 1;
}

static __always_inline void round_store(const struct round *round)
{
	struct walk *walk = &round->scratch->walk;

	walk->pc = round->pc;
	walk->sp = round->sp;
	walk->fp = round->fp;
	walk->hash = round->hash;
	walk->exact = round->exact;
}

/* A step by any other rule. Not 0: the walk is at an end. */
static __always_inline long step_anyhow(struct round *round, u32 rule)
{
	struct walk *walk = &round->scratch->walk;

	round_store(round);
	walk->rule = rule;
	walk_step(round->index);
	round->pc = walk->pc;
	round->sp = walk->sp;
	round->fp = walk->fp;
	round->exact = walk->exact;
	set_limit(round);
	return walk->end;
}

static __always_inline long round_ends(struct round *round, enum walk_end end)
{
	round->scratch->walk.end = end;
	return 1;
}

/* The frame of the trail that stands for the one the walk is at. It leads nowhere until the next one is put behind it.
 * Nothing leads to the sink, whose contents change: a frame that is not kept is one that the walk cannot come to by the
 * trail. */
static __always_inline struct frame *trail_keep(struct round *round, u64 place)
{
	struct trail *trail = &round->scratch->trail;
	u64 at = TRAIL_SINK;
	struct frame *frame;

	if (round->met) {
		at = round->last;
	} else if (!round->exact && trail->n_bytes < sizeof(trail->frames)) {
		at = trail->n_bytes;
		trail->n_bytes = at + sizeof(struct frame);
		trail_frame(trail, round->last)->next = at;
	}
	frame = trail_frame(trail, at);
	frame->sp = round->sp;
	frame->pc = round->pc;
	frame->fp = round->fp;
	frame->place = place;
	frame->fp_at = FP_NOWHERE;
	frame->next = 0;
	round->last = at;
	return frame;
}

/* The next frame of the trail that the walk may meet: not one that it has passed. */
static __always_inline void look_ahead(struct round *round)
{
	struct trail *trail = &round->scratch->trail;

	for (int i = 0; i < 2; i++)
		if (round->ahead && trail_frame(trail, round->ahead)->sp < round->sp)
			round->ahead = trail_frame(trail, round->ahead)->next;
}

/* One frame: adds it to the identity and goes to its caller. Not 0: the walk is at an end. */
static __always_inline long walk_round(struct round *round)
{
	struct walk *walk = &round->scratch->walk;
	u64 key = round->pc - !round->exact + walk->salt, place;
	struct located *cached = located_at(key);
	struct frame *frame;
	u32 rule;

	/* What could not be read counts as zero, and is not where stacks begin. */
	if (!round->pc)
		return round_ends(round, round->scratch->n_holes ? WALK_LEFT_COPY : WALK_COMPLETE);
	place = cached->place;
	rule = cached->rule;
	if (cached->key != key || cached->check != located_check(key, place, rule)) {
		if (locate(round->index, round->pc - !round->exact))
			return round_ends(round, WALK_UNSUPPORTED);
		place = walk->place;
		rule = walk->rule;
	}
	if (round->exact)
		round->hash = round->hash * PATH_STEP + (place ^ PLACE_EXACT);
	else
		round->hash = round->hash * PATH_STEP + place;
	frame = trail_keep(round, place);
	if (RULE_KIND(rule) == RULE_END)
		return round_ends(round, WALK_COMPLETE);
	if ((round->exact || !step_simply(round, rule, frame)) && step_anyhow(round, rule))
		return 1;
	look_ahead(round);
	return 0;
}

static __always_inline void round_begin(struct round *round, struct scratch *scratch, u32 index)
{
	const struct walk *walk = &scratch->walk;

	round->scratch = scratch;
	round->index = index;
	round->base = scratch->record.sp;
	round->pc = walk->pc;
	round->sp = walk->sp;
	round->fp = walk->fp;
	round->hash = walk->hash;
	round->exact = walk->exact;
	round->last = TRAIL_SINK;
	round->ahead = 0;
	round->met = 0;
	set_limit(round);
}

static long walk_round_called(u32 i, u32 *index)
{
	struct scratch *scratch = scratch_get(*index);
	struct round round;
	long ended;

	if (!scratch)
		return 1;
	round_begin(&round, scratch, *index);
	ended = walk_round(&round);
	round_store(&round);
	return ended;
}

/* Walks on from what is in the scratch buffer until there is an end, without a trail. */
__noinline int walk_by_calls(u32 index)
{
	struct scratch *scratch = scratch_get(index);

	if (!scratch || scratch->record.n_bytes < 8)
		return 0;
	bpf_loop(MAX_FRAMES, walk_round_called, &index, 0);
	if (scratch->walk.end == WALK_GOES_ON)
		scratch->walk.end = WALK_LEFT_COPY; /* more frames than are followed */
	return 0;
}

/* The same, by the trail. */
__noinline int walk_by_trail(u32 index)
{
	struct scratch *scratch = scratch_get(index);
	u64 zero = unknown_zero;
	struct trail *trail;
	struct round round;

	if (!scratch || scratch->record.n_bytes < 8)
		return 0;
	trail = &scratch->trail;
	if (trail->salt != scratch->walk.salt || trail->n_bytes >= sizeof(trail->frames))
		trail_clear(trail, scratch->walk.salt);
	round_begin(&round, scratch, index);
	round.last = TRAIL_HEAD;
	round.ahead = trail->frames[0].next;
	for (u64 i = unknown_zero; i < MAX_FRAMES; i++) {
		FORGET(i, zero);
		FORGET(round.pc, zero);
		FORGET(round.sp, zero);
		FORGET(round.fp, zero);
		FORGET(round.hash, zero);
		FORGET(round.limit, zero);
		FORGET(round.last, zero);
		FORGET(round.ahead, zero);
		FORGET(round.exact, zero);
		MAY_LEAVE_TO(out);
		round.met = 0;
		follow_trail(&round);
		if (walk_round(&round))
			break;
	}
out:
	if (scratch->walk.end == WALK_GOES_ON)
		scratch->walk.end = WALK_LEFT_COPY; /* more frames than are followed */
	round_store(&round);
	return 0;
}

static __always_inline void walk_stack(u32 index)
{
	if (loops_converge)
		walk_by_trail(index);
	else
		walk_by_calls(index);
}

/* The first step: at the probe SP is what it was at entry, whatever the rule there says. 0: the walk can go on. */
static __always_inline int walk_begin(struct scratch *scratch, u32 index, u64 ip, u64 fp)
{
	struct walk *walk = &scratch->walk;
	u64 key = ip + walk->salt;
	struct located *cached = located_at(key);

	walk->place = cached->place;
	walk->end = WALK_GOES_ON;
	if ((cached->key != key || cached->check != located_check(key, cached->place, cached->rule)) &&
		locate(index, ip)) {
		walk->end = WALK_UNSUPPORTED;
		return -1;
	}
	walk->hash = walk->place ^ PLACE_EXACT;
	walk->pc = *stack_word(scratch, 0);
	walk->sp = scratch->record.sp + 8;
	walk->fp = fp;
	walk->exact = 0;
	return 0;
}

/* Makes the walk ready for the mappings of the current process, up to `slot` at most. -1: they are not known, or another
 * thread is changing them: what has the version that was read must be the ones the process still has. */
static __always_inline int walk_prepare(struct walk *walk, const struct process *process, u64 stack_end, u64 slot)
{
	u32 image_index = *(volatile u32 *)&process->image;
	struct image *image = image_get(image_index);

	if (!image || image->unusable)
		return -1;
	walk->version = *(volatile u32 *)&image->version;
	if (*(volatile u32 *)&process->image != image_index)
		return -1;
	walk->salt = image->generation * 0x9e3779b97f4a7c15ull;
	walk->image = image_index;
	walk->stack_end = stack_end;
	walk->slot = slot;
	return 0;
}

/* Does the path of the copied stack go through the frame whose return address is at `slot`? Where the walk ends before
 * it gets there, 1: nothing says no. */
static __always_inline int path_meets(u32 index, const struct process *process, u64 ip, u64 fp, u64 slot)
{
	struct scratch *scratch = scratch_get(index);
	struct walk *walk;

	if (!scratch)
		return 1;
	walk = &scratch->walk;
	/* No further than the frame: what lies above does not matter. */
	if (walk_prepare(walk, process, slot + 8, slot))
		return 1;
	if (slot <= scratch->record.sp)
		return slot == scratch->record.sp;
	/* A few frames; and by the trail the stack of the chain of calls would be too large before Linux 6.9. */
	if (walk_begin(scratch, index, ip, fp) == 0)
		walk_by_calls(index);
	return walk->end != WALK_MISSED;
}

/* How far recent walks went, so that the next copy is long enough and not much longer. */
static __always_inline void remember_reach(struct scratch *scratch)
{
	u64 needed = scratch->walk.sp + 64 - scratch->record.sp;

	if (needed > STACK_BUDGET_MAX)
		needed = STACK_BUDGET_MAX;
	if (needed > scratch->reach)
		scratch->reach = needed;
	else
		scratch->reach -= (scratch->reach - needed) / 16;
}

/* Fills the record's hash with the identity of the call path. -1: the stack has none that the rules can give. */
static __always_inline int identity_path(struct scratch *scratch, u32 index, const struct process *process,
	const struct pt_regs *regs, u64 stack_end)
{
	struct walk *walk = &scratch->walk;
	struct image *image;

	if (walk_prepare(walk, process, stack_end, ~0ull))
		return -1;
	if (walk_begin(scratch, index, REGS_IP(regs), REGS_FP(regs)) == 0)
		walk_stack(index);
	image = image_get(walk->image);
	if (walk->end == WALK_UNSUPPORTED || !image || *(volatile u32 *)&image->version != walk->version)
		return -1;
	remember_reach(scratch);
	scratch->record.hash = mix(walk->hash, walk->end) ?: 1;
	return 0;
}

#else

static __always_inline int path_meets(u32 index, const struct process *process, u64 ip, u64 fp, u64 slot)
{
	return 1;
}

/* The rules are of x86-64 so far; elsewhere code pointers serve. */
static __always_inline int identity_path(struct scratch *scratch, u32 index, const struct process *process,
	const struct pt_regs *regs, u64 stack_end)
{
	return -1;
}

#endif

#endif
