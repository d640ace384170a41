/* allocation.bpf.h: entries and returns of allocator functions. */
#ifndef BPF_ALLOCATION_BPF_H
#define BPF_ALLOCATION_BPF_H

#include "calls.bpf.h"
#include "stack.bpf.h"

static __always_inline void pending_remove(struct thread *thread, u32 index)
{
	u32 last = thread->n_pending - 1;

	if (index != last)
		thread->pending[BELOW(index, MAX_PENDING)] = thread->pending[BELOW(last, MAX_PENDING)];
	thread->n_pending = last;
}

/* Without knowing where a stack ends: how far above SP an entry is still taken to be on it. */
#define SAME_STACK_REACH (1ull << 20)

static __always_inline int is_on_stack(const struct pending *pending, u64 sp, u64 low, u64 high)
{
	if (high)
		return pending->slot >= low && pending->slot < high;
	return pending->slot + SAME_STACK_REACH - sp < 2 * SAME_STACK_REACH;
}

/* Has the entry not returned yet? Then its return address is still the trampoline. */
static __always_inline int is_pending(const struct pending *pending, u64 trampoline)
{
#if RETURN_SLOT_ON_STACK
	u64 word = 0;

	return bpf_probe_read_user(&word, sizeof(word), (void *)pending->slot) == 0 && word == trampoline;
#else
	return 1;
#endif
}

/* Is the frame of an entry still on the call path? The trampoline alone does not tell: after a longjmp it may be left
 * over in a frame that never wrote there. */
__noinline int frame_is_on_path(u64 slot, u64 sp, u64 ip, u64 fp)
{
	struct thread *thread = current_thread();
	struct process *process = thread ? process_of(thread) : NULL;
	u32 index;
	struct scratch *scratch;
	int met = 1;

	if (!process)
		return 1;
	index = scratch_claim();
	scratch = scratch_get(index);
	if (!scratch)
		return 1;
	if (copy_stack(index, sp, slot + 8, STACK_BUDGET_MAX) == 0) {
		restore_return_addresses(index);
		met = path_meets(index, process, ip, fp, slot);
	}
	scratch_release(scratch);
	return met;
}

/* Drops the entries that are over; returns whether one is open on the stack [low, high) that SP is on. SP alone does
 * not tell: after a longjmp other frames lie where the entry's was. Entries on other stacks (a handler on an
 * alternate stack, a fiber) stay open and mute nothing; those that are over go when their place is needed. */
__noinline int settle_pending(u64 sp, u64 low, u64 high, u64 ip, u64 fp)
{
	struct thread *thread = current_thread();
	u64 trampoline = trampoline_address();
	int nested = 0;

	if (!thread)
		return 0;
	for (int i = MAX_PENDING - 1; i >= 0; i--) {
		struct pending *pending = &thread->pending[i];
		int here, open;

		if (i >= (int)thread->n_pending)
			continue;
		here = is_on_stack(pending, sp, low, high);
		open = is_pending(pending, trampoline);
		if (here && open)
			open = pending->slot >= sp && frame_is_on_path(pending->slot, sp, ip, fp);
		/* A handler may have interrupted the trampoline itself, which writes over the slot. */
		if (!here && thread->n_pending < MAX_PENDING)
			open = 1;
		if (!open) {
			pending_remove(thread, i);
			count_note(NOTE_ABANDONED);
		} else if (here) {
			nested = 1;
		}
	}
	return nested;
}

/* A product that 64 bits do not hold is no size: such a call fails, and must not look like one that asked for
 * nothing. */
static __always_inline u64 size_times(u64 size, u64 count)
{
	u64 limit;

	if (!((size | count) >> 32) || !count)
		return size * count;
	limit = ~0ull / count;
	asm volatile("" : "+r"(limit)); /* else clang makes a 128-bit product of it */
	return size > limit ? ~0ull : size * count;
}

static __always_inline void pending_fill(struct pending *pending, const struct pt_regs *regs, u64 cookie)
{
	pending->slot = REGS_SP(regs);
	pending->kind = COOKIE_KIND(cookie);
	pending->pointer = 0;
	pending->result = 0;
	if (COOKIE_ARGUMENTS(cookie) == COOKIE_ARGUMENTS_OF_MALLOC) {
		pending->size = regs_argument(regs, 0);
		return;
	}
	pending->size = regs_argument(regs, COOKIE_SIZE(cookie));
	if (COOKIE_COUNT(cookie) != COOKIE_NO_ARGUMENT)
		pending->size = size_times(pending->size, regs_argument(regs, COOKIE_COUNT(cookie)));
	if (COOKIE_POINTER(cookie) != COOKIE_NO_ARGUMENT)
		pending->pointer = regs_argument(regs, COOKIE_POINTER(cookie));
	if (COOKIE_RESULT(cookie) != COOKIE_NO_ARGUMENT)
		pending->result = regs_argument(regs, COOKIE_RESULT(cookie));
}

/* Opens an entry. 1: its return is of no interest. */
static __always_inline int allocation_entry(const struct pt_regs *regs, struct thread *thread, u64 cookie)
{
	struct pending *pending;
	struct bounds stack = {};
	u64 sp = REGS_SP(regs);

	thread->free_pointer = 0;
	if (with_stacks || thread->n_pending)
		stack = stack_bounds(thread, sp);
	if (thread->n_pending && settle_pending(sp, stack.low, stack.high, REGS_IP(regs), REGS_FP(regs))) {
		count_note(NOTE_MUTED);
		return 1;
	}
	if (thread->n_pending >= MAX_PENDING) {
		count_lost(LOST_PENDING);
		return 1;
	}
	pending = &thread->pending[BELOW(thread->n_pending, MAX_PENDING)];
	pending_fill(pending, regs, cookie);
	/* Only a realloc needs to say when it began. */
	pending->entered = pending->kind == RECORD_REALLOC ? bpf_ktime_get_ns() : 0;
	pending->recorded = recording;
	pending->stack_hash = 0;
	if (with_stacks && pending->recorded)
		pending->stack_hash = capture_stack(regs, thread, stack.high);
	thread->n_pending++;
	return 0;
}

static __always_inline void add_free(struct thread *thread, u64 pointer, u64 when)
{
	const struct call call = {{CALL_WORD(RECORD_FREE, when), CALL_TASK(thread->pid, thread->tid), pointer}};

	call_add(thread, &call, CALL_WORDS_FREE);
}

static __always_inline void add_realloc(struct thread *thread, const struct pending *pending, u64 address)
{
	/* realloc(p, 0) frees; a realloc that failed for lack of memory leaves the block alone. */
	if (!address && pending->size)
		return;
	if (!address || !pending->recorded) {
		if (pending->pointer)
			add_free(thread, pending->pointer, pending->entered);
		return;
	}
	const struct call call = {{CALL_WORD(RECORD_REALLOC, bpf_ktime_get_ns()), CALL_TASK(thread->pid, thread->tid),
		address, pending->size, pending->stack_hash, pending->pointer, pending->entered}};

	call_add(thread, &call, CALL_WORDS_REALLOC);
}

/* What the call gave: its return value, or what it stored through its pointer argument when it returned 0. */
static __always_inline u64 returned_address(const struct pt_regs *regs, const struct pending *pending)
{
	u64 address = 0;

	if (!pending->result)
		return REGS_RESULT(regs);
	if ((u32)REGS_RESULT(regs) != 0)
		return 0;
	if (bpf_probe_read_user(&address, sizeof(address), (void *)pending->result))
		count_lost(LOST_RESULTS);
	return address;
}

static __always_inline void add_allocation(struct thread *thread, const struct pending *pending, u64 address)
{
	if (pending->kind == RECORD_REALLOC) {
		add_realloc(thread, pending, address);
		return;
	}
	if (!address || !pending->recorded)
		return;
	const struct call call = {{CALL_WORD(pending->kind, bpf_ktime_get_ns()), CALL_TASK(thread->pid, thread->tid),
		address, pending->size, pending->stack_hash}};

	call_add(thread, &call, CALL_WORDS_ALLOC);
}

/* The entry whose return this is has its slot just below SP; the returns of muted entries find none. */
static __always_inline int allocation_return(const struct pt_regs *regs, struct thread *thread)
{
	u64 slot = REGS_SP(regs) - RETURN_POPS;

	/* Nearly always the last one; an older one where a handler or a fiber came in between. */
	for (u32 i = 1; i <= MAX_PENDING; i++) {
		u32 index = thread->n_pending - i;
		struct pending *pending = &thread->pending[BELOW(index, MAX_PENDING)];

		if (i > thread->n_pending)
			break;
		if (pending->slot != slot)
			continue;
		add_allocation(thread, pending, returned_address(regs, pending));
		pending_remove(thread, index);
		break;
	}
	return 0;
}

/* A free entry opens nothing. It is part of the thread's previous free where that one forwards to it. */
static __always_inline int free_entry(const struct pt_regs *regs, struct thread *thread, u64 cookie)
{
	u64 pointer = regs_argument(regs, COOKIE_POINTER(cookie)), sp = REGS_SP(regs);

	if (thread->free_inside == sp) {
		thread->free_inside = 0;
		return 0;
	}
	if (!pointer)
		return 0;
	if (thread->n_pending) {
		struct bounds stack = stack_bounds(thread, sp);

		if (settle_pending(sp, stack.low, stack.high, REGS_IP(regs), REGS_FP(regs)))
			return 0;
	}
	if (pointer != thread->free_pointer || sp > thread->free_sp)
		add_free(thread, pointer, bpf_ktime_get_ns());
	thread->free_pointer = COOKIE_FORWARDS(cookie) ? pointer : 0;
	thread->free_sp = sp;
	return 0;
}

#endif
