/* copy.bpf.h: finding the end of a user stack and copying it.
 *
 * The steps are global functions that take numbers and look their buffers up themselves: the verifier then checks
 * each once and by itself, instead of all of them along every path that leads there (800 000 instructions). */
#ifndef BPF_COPY_BPF_H
#define BPF_COPY_BPF_H

#include "image.bpf.h"

#define PAGE_SIZE 4096ull
/* Without the mapping at hand: how far below mm->start_stack an address counts as the main stack. */
#define MAIN_STACK_REACH (64ull << 20)

struct bounds {
	u64 low, high;
};

static long bounds_of_vma(struct task_struct *task, struct vm_area_struct *vma, struct bounds *bounds)
{
	bounds->low = vma->vm_start;
	bounds->high = vma->vm_end;
	return 0;
}

/* Finds out on which stack `sp` is and where that stack ends, into thread->stack_low and stack_high. A thread
 * keeps its stack, so the answer is kept; stack_high 0 means unknown. */
__noinline int find_stack(u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = current_thread();
	struct bounds bounds = {};
	u64 start_stack = task->mm->start_stack;

	if (!thread)
		return 0;
	thread->stack_low = thread->stack_high = 0;
	if (bpf_find_vma(task, sp, bounds_of_vma, &bounds, 0) != 0) {
		/* Somebody is changing the mappings right now: settle for the main stack, ask again later. */
		if (task->pid == task->tgid && sp < start_stack && start_stack - sp < MAIN_STACK_REACH)
			thread->stack_high = start_stack;
		return 0;
	}
	if (sp < start_stack && bounds.high > start_stack && bounds.low < start_stack)
		bounds.high = start_stack; /* above: arguments and environment */
#if defined(__TARGET_ARCH_x86)
	else if (task->thread.fsbase > sp && task->thread.fsbase < bounds.high)
		bounds.high = task->thread.fsbase; /* a thread's control block lies on top of its stack */
#endif
	thread->stack_low = bounds.low;
	thread->stack_high = bounds.high;
	return 0;
}

/* The stack that `sp` is on: where it begins, and where copies of it end; high is 0 where that is not known. */
static __always_inline struct bounds stack_bounds(struct thread *thread, u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bounds bounds = {.low = task->sas_ss_sp};
	u64 size = task->sas_ss_size;

	/* First, because an alternate stack may lie within the ordinary one or in the heap. */
	if (size && sp - bounds.low < size) {
		bounds.high = bounds.low + size;
		return bounds;
	}
	if (sp - thread->stack_low >= thread->stack_high - thread->stack_low || !thread->stack_low)
		find_stack(sp);
	bounds.low = thread->stack_low;
	bounds.high = thread->stack_high;
	return bounds;
}

struct claim_context {
	u32 start;
	u32 claimed;
};

static long scratch_try_claim(u32 i, struct claim_context *context)
{
	u32 index = (context->start + i) & (MAX_SCRATCH - 1);
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &index);

	if (!scratch || !try_claim(&scratch->busy))
		return 0;
	context->claimed = index;
	return 1;
}

static __always_inline struct scratch *scratch_get(u32 index)
{
	return bpf_map_lookup_elem(&scratches, &index);
}

/* A buffer of one's own, or MAX_SCRATCH: a program can be preempted by another one on the same CPU, so per-CPU is not
 * enough. */
static __always_inline u32 scratch_claim(void)
{
	struct claim_context context = {.start = bpf_get_smp_processor_id(), .claimed = MAX_SCRATCH};

	if (!scratch_try_claim(0, &context))
		bpf_loop(MAX_SCRATCH, scratch_try_claim, &context, 0);
	return context.claimed;
}

static __always_inline void scratch_release(struct scratch *scratch)
{
	release(&scratch->busy);
}

struct copying {
	struct scratch *scratch;
	u64 sp;
	u32 n_bytes;
	u32 end_known;
};

/* The next page of the stack, as far as it is wanted. What is done is counted in the record. */
static long copy_page(u32 i, struct copying *copy)
{
	struct record_stack *record = &copy->scratch->record;
	u32 done = record->n_bytes, n;
	u64 at = copy->sp + done;

	if (done >= copy->n_bytes)
		return 1;
	n = PAGE_SIZE - (at & (PAGE_SIZE - 1));
	if (n > copy->n_bytes - done)
		n = copy->n_bytes - done;
	if (n > PAGE_SIZE)
		return 1;
	if (bpf_probe_read_user(&copy->scratch->bytes[BELOW(done, STACK_BUDGET_MAX)], n, (void *)at)) {
		if (done == 0 || !copy->end_known)
			return 1;
		count_note(NOTE_HOLES);
		copy->scratch->n_holes++;
	}
	record->n_bytes = done + n;
	return 0;
}

/* Copies page by page: used where one read for all failed. A page that cannot be read inside the stack was never
 * touched, so it holds zeros, which is what the failed read leaves. Where the stack's end is not known, the copy
 * ends there. Returns the bytes copied. */
static __always_inline u32 copy_pages(struct scratch *scratch, u64 sp, u32 n_bytes, u32 end_known)
{
	struct copying copy = {scratch, sp, n_bytes, end_known};

	bpf_loop(STACK_BUDGET_MAX / PAGE_SIZE + 1, copy_page, &copy, 0);
	return scratch->record.n_bytes;
}

/* How much of the stack at `sp` may be copied at most: to its end (0: unknown) or the budget. */
static __always_inline u32 copy_limit(u64 sp, u64 end)
{
	u32 n_bytes = stack_budget;

	if (end > sp && end - sp < n_bytes)
		n_bytes = end - sp;
	return n_bytes > STACK_BUDGET_MAX ? STACK_BUDGET_MAX : n_bytes;
}

static __always_inline int copy(struct scratch *scratch, u64 sp, u64 end, u32 wanted)
{
	u32 n_bytes = copy_limit(sp, end);
	int end_known = end > sp;

	if (n_bytes > wanted)
		n_bytes = wanted;
	if (n_bytes == 0 || n_bytes > STACK_BUDGET_MAX)
		return -1;
	scratch->n_holes = 0;
	if (!end_known || bpf_probe_read_user(scratch->bytes, n_bytes, (void *)sp)) {
		scratch->record.n_bytes = 0;
		n_bytes = copy_pages(scratch, sp, n_bytes, end_known);
	}
	if (n_bytes == 0)
		return -1;
	scratch->record.sp = sp;
	scratch->record.n_bytes = n_bytes;
	return 0;
}

/* Copies the stack from `sp` up to `end` (0: unknown), the budget or `wanted` bytes; fills the record's sp and
 * n_bytes. */
__noinline int copy_stack(u32 index, u64 sp, u64 end, u32 wanted)
{
	struct scratch *scratch = scratch_get(index);

	return scratch ? copy(scratch, sp, end, wanted) : -1;
}

static __always_inline u64 *stack_word(struct scratch *scratch, u64 index)
{
	return (u64 *)&scratch->bytes[BELOW(index, STACK_BUDGET_MAX / 8) * 8];
}

/* How many returns that are still ahead are looked at; the kernel keeps 64 at most. */
#define MAX_RETURNS 64

struct returns {
	struct scratch *scratch;
	struct return_instance *next;
	u64 trampoline;
};

static long restore_return_address(u32 i, struct returns *returns)
{
	struct record_stack *record = &returns->scratch->record;
	struct return_instance *instance = returns->next;
	u64 offset;

	if (!instance)
		return 1;
	offset = BPF_CORE_READ(instance, stack) - record->sp;
	if (offset < record->n_bytes) {
		u64 *word = stack_word(returns->scratch, offset / 8);

		/* What a longjmp left behind in the kernel's list may lie in somebody else's frame by now. */
		if (*word == returns->trampoline)
			*word = BPF_CORE_READ(instance, orig_ret_vaddr);
	}
	returns->next = BPF_CORE_READ(instance, next);
	return 0;
}

/* Where the kernel's return trampoline is in this process, or 0 while it has none. */
static __always_inline u64 trampoline_address(void)
{
	struct xol_area *area = bpf_get_current_task_btf()->mm->uprobes_state.xol_area;

	return area ? area->vaddr : 0;
}

/* Puts return addresses that a trampoline replaced back into the copy, else every unwinder stops there. The kernel
 * remembers them, also those of calls that are of no interest here. */
__noinline int restore_return_addresses(u32 index)
{
	struct returns returns = {.scratch = scratch_get(index), .trampoline = trampoline_address()};
	struct thread *thread = current_thread();
	struct uprobe_task *task = BPF_CORE_READ(bpf_get_current_task_btf(), utask);

	if (!returns.scratch || !thread || !thread->n_pending || !task)
		return 0;
	returns.next = BPF_CORE_READ(task, return_instances);
	bpf_loop(MAX_RETURNS, restore_return_address, &returns, 0);
	return 0;
}

/* Copies again and more, up to `wanted` bytes: those that are there already cost next to nothing. The return addresses
 * are not restored. */
__noinline int copy_more(u32 index, u64 end, u32 wanted)
{
	struct scratch *scratch = scratch_get(index);
	u64 sp;

	if (!scratch)
		return -1;
	sp = scratch->record.sp;
	if (scratch->record.n_bytes >= copy_limit(sp, end))
		return 0;
	return copy(scratch, sp, end, wanted);
}

/* Copies all up to the end or the budget. */
static __always_inline void copy_rest(u32 index, u64 end)
{
	copy_more(index, end, STACK_BUDGET_MAX);
	restore_return_addresses(index);
}

/* One step of the identity: a word and where it stands, bijective in the word, then spread over all bits. */
static __always_inline u64 mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

#endif
