/* stack.bpf.h: copying a user stack, giving it an identity, defining it once.
 *
 * The steps are global functions that take numbers and look their buffers up themselves: the verifier then checks
 * each once and by itself, instead of all of them along every path that leads there (800 000 instructions). */
#ifndef BPF_STACK_BPF_H
#define BPF_STACK_BPF_H

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

/* The end of the stack that `sp` is on, or 0. */
static __always_inline u64 stack_end(struct thread *thread, u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 alternate = task->sas_ss_sp, size = task->sas_ss_size;

	/* First, because an alternate stack may lie within the ordinary one or in the heap. */
	if (size && sp - alternate < size)
		return alternate + size;
	if (sp - thread->stack_low >= thread->stack_high - thread->stack_low || !thread->stack_low)
		find_stack(sp);
	return thread->stack_high;
}

struct claim_context {
	u32 start;
	u32 claimed;
};

static long scratch_try_claim(u32 i, struct claim_context *context)
{
	u32 index = (context->start + i) & (MAX_SCRATCH - 1);
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &index);

	if (!scratch || __sync_val_compare_and_swap(&scratch->busy, 0, 1) != 0)
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
	__sync_lock_test_and_set(&scratch->busy, 0);
}

struct copy {
	struct scratch *scratch;
	u64 sp;
	u32 n_bytes;
	u32 end_known;
};

/* The next page of the stack, as far as it is wanted. What is done is counted in the record. */
static long copy_page(u32 i, struct copy *copy)
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
		if (i == 0 || !copy->end_known)
			return 1;
		count_note(NOTE_HOLES);
	}
	record->n_bytes = done + n;
	return 0;
}

/* Copies page by page: used where one read for all failed. A page that cannot be read inside the stack was never
 * touched, so it holds zeros, which is what the failed read leaves. Where the stack's end is not known, the copy
 * ends there. Returns the bytes copied. */
static __always_inline u32 copy_pages(struct scratch *scratch, u64 sp, u32 n_bytes, u32 end_known)
{
	struct copy copy = {scratch, sp, n_bytes, end_known};

	scratch->record.n_bytes = 0;
	bpf_loop(STACK_BUDGET_MAX / PAGE_SIZE + 1, copy_page, &copy, 0);
	return scratch->record.n_bytes;
}

/* Copies the stack from `sp` up to `end` (0: unknown) or the budget; fills the record's sp, n_bytes and flags. */
__noinline int copy_stack(u32 index, u64 sp, u64 end)
{
	struct scratch *scratch = scratch_get(index);
	u32 n_bytes = stack_budget, budget = n_bytes;
	int end_known = end > sp;

	if (!scratch)
		return -1;
	if (end_known && end - sp < n_bytes)
		n_bytes = end - sp;
	if (n_bytes > STACK_BUDGET_MAX)
		n_bytes = STACK_BUDGET_MAX;
	if (n_bytes == 0)
		return -1;
	if (!end_known || bpf_probe_read_user(scratch->bytes, n_bytes, (void *)sp))
		n_bytes = copy_pages(scratch, sp, n_bytes, end_known);
	if (n_bytes == 0)
		return -1;
	scratch->record.sp = sp;
	scratch->record.n_bytes = n_bytes;
	scratch->record.head.flags = n_bytes == budget && end - sp != n_bytes ? RECORD_FLAG_TRUNCATED : 0;
	return 0;
}

static __always_inline u64 *stack_word(struct scratch *scratch, u64 index)
{
	return (u64 *)&scratch->bytes[BELOW(index, STACK_BUDGET_MAX / 8) * 8];
}

/* Puts return addresses that a trampoline replaced back into the copy, else every unwinder stops there. */
__noinline int restore_return_addresses(u32 index)
{
	struct scratch *scratch = scratch_get(index);
	struct thread *thread = current_thread();

	if (!scratch || !thread)
		return 0;
	for (u32 i = 0; i < MAX_PENDING; i++) {
		struct pending *pending = &thread->pending[i];
		u64 offset = pending->slot - scratch->record.sp;

		if (i >= thread->n_pending)
			break;
		if (offset < scratch->record.n_bytes)
			*stack_word(scratch, offset / 8) = pending->return_address;
	}
	return 0;
}

/* One step of the identity: a word and where it stands, bijective in the word, then spread over all bits. */
static __always_inline u64 mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

struct identity {
	struct scratch *scratch;
	u64 hash;
	u64 low, span;         /* bounds of the image */
	u64 gap_low, gap_span; /* its largest hole */
	u32 n_words;
	u32 image;
	u32 anonymous; /* a word points into anonymous code */
};

#define WORDS_PER_STEP 4

/* User addresses have 47 bits, so a word's position fits above it. */
static long identity_code_step(u32 i, struct identity *identity)
{
	u32 first = i * WORDS_PER_STEP;

#pragma unroll
	for (int k = 0; k < WORDS_PER_STEP; k++) {
		u64 word = *stack_word(identity->scratch, first + k);
		int tag;

		if (word - identity->low >= identity->span || word - identity->gap_low < identity->gap_span)
			continue;
		if (first + k >= identity->n_words)
			return 1;
		tag = image_tag(identity->image, word);
		if (tag == TAG_NOT_CODE)
			continue;
		identity->anonymous |= tag; /* without a branch: RANGE_ANONYMOUS is 1, RANGE_FILE 0 */
		identity->hash = mix(identity->hash, word | (u64)(first + k) << 48);
	}
	return 0;
}

static long identity_raw_step(u32 i, struct identity *identity)
{
	u32 first = i * WORDS_PER_STEP;

#pragma unroll
	for (int k = 0; k < WORDS_PER_STEP; k++) {
		if (first + k >= identity->n_words)
			return 1;
		identity->hash = mix(identity->hash, *stack_word(identity->scratch, first + k));
	}
	return 0;
}

/* All bytes: what there is to tell stacks apart when code cannot be told from data. Fills the record's hash. */
__noinline int identity_raw(u32 index, u64 ip, u32 pid)
{
	struct scratch *scratch = scratch_get(index);
	struct identity identity = {.scratch = scratch};

	if (!scratch)
		return 0;
	identity.hash = mix(mix(ip, pid), scratch->record.sp);
	identity.n_words = scratch->record.n_bytes / 8;
	bpf_loop(STACK_BUDGET_MAX / 8 / WORDS_PER_STEP, identity_raw_step, &identity, 0);
	scratch->record.hash = identity.hash ?: 1;
	return 0;
}

/* The instruction pointer and every word that points to code, under this set of executable mappings. Fills the
 * record's hash. */
__noinline int identity_code(u32 index, u32 image_index, u64 ip, u32 pid)
{
	struct scratch *scratch = scratch_get(index);
	struct image *image = image_get(image_index);
	struct identity identity = {.scratch = scratch, .image = image_index};
	u64 anonymous_generation;
	u32 version;

	if (!scratch)
		return 0;
	if (!image || image->unusable)
		goto raw;
	version = *(volatile u32 *)&image->version;
	anonymous_generation = image->anonymous_generation;
	identity.n_words = scratch->record.n_bytes / 8;
	identity.low = image->low;
	identity.span = image->high - image->low;
	identity.gap_low = image->gap_low;
	identity.gap_span = image->gap_high - image->gap_low;
	identity.hash = mix(image->generation, ip);
	if (image_tag(image_index, ip) == RANGE_ANONYMOUS)
		identity.anonymous = 1;
	bpf_loop(STACK_BUDGET_MAX / 8 / WORDS_PER_STEP, identity_code_step, &identity, 0);
	if (identity.anonymous)
		identity.hash = mix(identity.hash, anonymous_generation | 1ull << 63);
	scratch->record.hash = identity.hash ?: 1;
	if (*(volatile u32 *)&image->version == version)
		return 0;
raw:
	count_note(NOTE_RAW);
	return identity_raw(index, ip, pid);
}

struct chain {
	struct scratch *scratch;
	u64 fp;
};

/* Appends one address behind the stack bytes. Counted in the record: what the verifier cannot know it need not
 * follow value by value. */
static __always_inline void chain_append(struct chain *chain, u64 address)
{
	struct record_stack *record = &chain->scratch->record;
	u64 at = BELOW((record->n_bytes + 7) & ~7ull, STACK_BUDGET_MAX * 2);

	if (at > STACK_BUDGET_MAX || record->n_fp_chain >= FP_CHAIN_MAX)
		return;
	*(u64 *)&chain->scratch->bytes[at + BELOW(record->n_fp_chain, FP_CHAIN_MAX) * 8] = address;
	record->n_fp_chain++;
}

static long chain_step(u32 i, struct chain *chain)
{
	struct record_stack *record = &chain->scratch->record;
	u64 offset = chain->fp - record->sp;
	u64 return_address, next;

	if ((offset & 7) || offset >= record->n_bytes || offset + 16 > record->n_bytes)
		return 1;
	next = *stack_word(chain->scratch, offset / 8);
	return_address = *stack_word(chain->scratch, offset / 8 + 1);
	if (!return_address)
		return 1;
	chain_append(chain, return_address);
	if (next <= chain->fp)
		return 1;
	chain->fp = next;
	return 0;
}

/* The frame-pointer chain within the copy. At a function's entry the frame pointer is still its caller's, so the
 * direct caller comes from the return address. */
__noinline int walk_frame_pointers(u32 index, u64 ip, u64 caller, u64 fp)
{
	struct scratch *scratch = scratch_get(index);
	struct chain chain = {.scratch = scratch, .fp = fp};

	if (!scratch)
		return 0;
	scratch->record.n_fp_chain = 0;
	chain_append(&chain, ip);
	chain_append(&chain, caller);
	bpf_loop(FP_CHAIN_MAX, chain_step, &chain, 0);
	return 0;
}

/* Sends the definition. A hash counts as known only once its definition is in the ring. */
__noinline int send_definition(u32 index)
{
	struct scratch *scratch = scratch_get(index);
	u32 one = 1;
	u64 size, hash;

	if (!scratch)
		return 0;
	size = sizeof(scratch->record) + ((scratch->record.n_bytes + 7) & ~7u) + scratch->record.n_fp_chain * 8;
	if (size > sizeof(scratch->record) + sizeof(scratch->bytes))
		return 0;
	if (bpf_ringbuf_output(&ring, &scratch->record, size, BPF_RB_NO_WAKEUP)) {
		count_lost(LOST_RING_DEFINITIONS);
		return 0;
	}
	hash = scratch->record.hash;
	bpf_map_update_elem(&known_stacks, &hash, &one, BPF_ANY);
	count_note(NOTE_DEFINITIONS);
	return 0;
}

static __always_inline void define_stack(struct scratch *scratch, u32 index, const struct pt_regs *regs, u32 pid,
	u32 tid, u64 now)
{
	struct record_head *head = &scratch->record.head;
	u32 flags = head->flags;
	u64 caller;

	fill_head(head, RECORD_STACK, pid, tid, now);
	head->flags = flags;
	regs_to_dwarf(regs, scratch->record.regs);
#if RETURN_SLOT_ON_STACK
	caller = *stack_word(scratch, 0);
#else
	caller = regs->regs[30];
#endif
	walk_frame_pointers(index, REGS_IP(regs), caller, REGS_FP(regs));
	send_definition(index);
}

/* Captures the caller's stack and returns the hash that names it, or 0. */
static __always_inline u64 capture_stack(const struct pt_regs *regs, struct process *process, struct thread *thread,
	u64 end, u64 now)
{
	u32 index = scratch_claim();
	struct scratch *scratch = scratch_get(index);
	u64 hash = 0;

	if (!scratch) {
		count_lost(LOST_SCRATCH);
		return 0;
	}
	if (copy_stack(index, REGS_SP(regs), end)) {
		count_lost(LOST_STACKS);
		goto out;
	}
	if (thread->n_pending)
		restore_return_addresses(index);
	if (stack_identity == IDENTITY_CODE)
		identity_code(index, process->image, REGS_IP(regs), process->pid);
	else
		identity_raw(index, REGS_IP(regs), process->pid);
	hash = scratch->record.hash;
	if (!bpf_map_lookup_elem(&known_stacks, &hash))
		define_stack(scratch, index, regs, process->pid, thread->tid, now);
out:
	scratch_release(scratch);
	return hash;
}

#endif
