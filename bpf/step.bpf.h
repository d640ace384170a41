/* step.bpf.h: from a frame to its caller by any rule, with the state of the walk in the scratch buffer. */
#ifndef BPF_STEP_BPF_H
#define BPF_STEP_BPF_H

#include "copy.bpf.h"

enum walk_end {
	WALK_GOES_ON,
	WALK_COMPLETE,    /* at the thread's first frame */
	WALK_LEFT_COPY,   /* the caller is beyond the copy: a path as long as the copy shows it */
	WALK_UNSUPPORTED, /* no rule, no simple rule, no mapping */
	WALK_MET,         /* at the return address that was looked for */
	WALK_MISSED,      /* beyond it */
};

/* In place of a frame pointer that no simple rule restores. */
#define FP_LOST ~0ull

#if defined(__TARGET_ARCH_x86)

/* struct ucontext, arch/x86/include/uapi/asm/sigcontext.h: words from its start. */
#define UCONTEXT_FP 15
#define UCONTEXT_SP 20
#define UCONTEXT_IP 21

/* A word of the stack; false where it lies beyond the copy, after that has been extended as far as it goes. */
static __always_inline int walk_word(struct scratch *scratch, u32 index, u64 address, u64 *ret_word)
{
	struct record_stack *record = &scratch->record;
	u64 offset = address - record->sp;

	if (offset >= STACK_BUDGET_MAX || (offset & 7))
		return 0;
	if (offset + 8 > record->n_bytes) {
		copy_more(index, scratch->walk.stack_end, record->n_bytes < 8192 ? 8192 : STACK_BUDGET_MAX);
		if (offset + 8 > record->n_bytes)
			copy_more(index, scratch->walk.stack_end, STACK_BUDGET_MAX);
		restore_return_addresses(index);
		if (offset + 8 > record->n_bytes)
			return 0;
	}
	*ret_word = *stack_word(scratch, offset / 8);
	return 1;
}

/* Over a signal frame to what it interrupted, which may be on another stack. */
static __always_inline enum walk_end step_over_signal(struct scratch *scratch, u32 index)
{
	struct walk *walk = &scratch->walk;
	u64 context = walk->sp, sp, pc, fp;

	if (!walk_word(scratch, index, context + UCONTEXT_SP * 8, &sp) ||
		!walk_word(scratch, index, context + UCONTEXT_IP * 8, &pc) ||
		!walk_word(scratch, index, context + UCONTEXT_FP * 8, &fp))
		return WALK_LEFT_COPY;
	walk->pc = pc;
	walk->sp = sp;
	walk->fp = fp;
	walk->exact = 1;
	return WALK_GOES_ON;
}

/* The CFA by the rule; 0 where there is none to be had. */
static __always_inline u64 walk_cfa(struct scratch *scratch, u32 index)
{
	struct walk *walk = &scratch->walk;
	u32 rule = walk->rule;
	u64 cfa = 0;

	switch (RULE_KIND(rule)) {
	case RULE_SP:
		return walk->sp + RULE_CFA(rule) * 8;
	case RULE_FP_BASED:
		return walk->fp == FP_LOST ? 0 : walk->fp + RULE_CFA(rule) * 8;
	case RULE_DEREF:
		if (walk->fp != FP_LOST && walk_word(scratch, index, walk->fp - RULE_CFA(rule) * 8, &cfa))
			return cfa;
		return 0;
	case RULE_PLT:
		return walk->sp + 8 + ((walk->pc & 15) >= 11) * 8;
	}
	return 0;
}

static __always_inline int walk_restore_fp(struct scratch *scratch, u32 index, u64 cfa)
{
	struct walk *walk = &scratch->walk;
	u32 words = RULE_FP(walk->rule);
	u64 fp;

	if (words == RULE_FP_SAME)
		return 1;
	if (words == RULE_FP_LOST) {
		walk->fp = FP_LOST;
		return 1;
	}
	if (!walk_word(scratch, index, words == RULE_FP_HERE ? walk->fp : cfa - words * 8, &fp))
		return 0;
	walk->fp = fp;
	return 1;
}

/* One step by any rule, from and to what is in the scratch buffer; sets the end where there is one. */
__noinline int walk_step(u32 index)
{
	struct scratch *scratch = scratch_get(index);
	struct walk *walk;
	u64 cfa, pc;

	if (!scratch)
		return 0;
	walk = &scratch->walk;
	if (RULE_KIND(walk->rule) == RULE_SIGNAL) {
		walk->end = step_over_signal(scratch, index);
		return 0;
	}
	cfa = walk_cfa(scratch, index);
	if (cfa <= walk->sp) {
		walk->end = WALK_UNSUPPORTED;
		return 0;
	}
	if (cfa - 8 >= walk->slot) {
		walk->end = cfa - 8 == walk->slot ? WALK_MET : WALK_MISSED;
		return 0;
	}
	if (!walk_word(scratch, index, cfa - 8, &pc) || !walk_restore_fp(scratch, index, cfa)) {
		walk->end = WALK_LEFT_COPY;
		return 0;
	}
	walk->pc = pc;
	walk->sp = cfa;
	walk->exact = 0;
	return 0;
}

#endif

#endif
