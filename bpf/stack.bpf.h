/* stack.bpf.h: giving a copied stack an identity, defining it once. */
#ifndef BPF_STACK_BPF_H
#define BPF_STACK_BPF_H

#include "pressure.bpf.h"
#include "scrub.bpf.h"
#include "walk.bpf.h"

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
	if (!image_is_current(image_index))
		goto raw;
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

/* Sends the definition; its size. A hash counts as known only once its definition is in the ring. */
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
	return size;
}

static __always_inline u32 define_stack(struct scratch *scratch, u32 index, const struct pt_regs *regs,
	const struct process *process, u32 tid, u64 end)
{
	struct record_head *head = &scratch->record.head;
	u64 caller;

	copy_rest(index, end);
	fill_head(head, RECORD_STACK, process->pid, tid, bpf_ktime_get_ns());
	if ((scratch->record.n_bytes == stack_budget && end - scratch->record.sp != stack_budget) || scratch->n_holes)
		head->flags = RECORD_FLAG_TRUNCATED;
	regs_to_dwarf(regs, scratch->record.regs);
	/* Before the chain is walked: what is no address must not come out through it either. */
	if (scrub_stacks)
		scrub_definition(index, process->image, end);
#if RETURN_SLOT_ON_STACK
	caller = *stack_word(scratch, 0);
#else
	caller = regs->regs[30];
#endif
	walk_frame_pointers(index, REGS_IP(regs), caller, REGS_FP(regs));
	return send_definition(index);
}

/* What is read at least before anybody asks for more. Reading costs by the call, not by the byte, up to about this
 * much. */
#define FIRST_COPY 1024u

static __always_inline u32 first_copy(const struct scratch *scratch)
{
	if (stack_identity != IDENTITY_PATH)
		return STACK_BUDGET_MAX;
	return scratch->reach > FIRST_COPY ? scratch->reach : FIRST_COPY;
}

/* Gives the copy its hash, by the identity that was chosen or by the next coarser one that is possible. */
static __always_inline void identify(struct scratch *scratch, u32 index, const struct pt_regs *regs,
	struct process *process, u64 end)
{
	if (stack_identity == IDENTITY_PATH) {
		if (identity_path(scratch, index, process, regs, end) == 0)
			return;
		count_note(NOTE_BY_CODE);
		copy_rest(index, end);
	}
	if (stack_identity == IDENTITY_RAW)
		identity_raw(index, REGS_IP(regs), process->pid);
	else
		identity_code(index, process->image, REGS_IP(regs), process->pid);
}

/* Was the stack defined before? Asks the small table first: it costs a tenth of the large one. */
static __always_inline int is_known(u64 hash)
{
	u32 slot = BELOW(hash >> 16, MAX_RECENT);
	u64 *recent = bpf_map_lookup_elem(&recent_stacks, &slot);

	if (recent && *recent == hash)
		return 1;
	if (!bpf_map_lookup_elem(&known_stacks, &hash))
		return 0;
	if (recent)
		*recent = hash;
	return 1;
}

/* Captures the caller's stack and returns the hash that names it, or 0. A function for the sake of the verifier's limit to
 * the stack of a chain of calls. */
static __noinline u64 capture_stack(const struct pt_regs *regs, struct thread *thread, u64 end)
{
	struct process *process = process_of(thread);
	u32 index = process ? scratch_claim() : MAX_SCRATCH;
	struct scratch *scratch = scratch_get(index);
	u64 hash = 0;
	u32 n_sent = 0;

	if (!scratch || !process) {
		count_lost(LOST_SCRATCH);
		return 0;
	}
	if (copy(scratch, REGS_SP(regs), end, first_copy(scratch))) {
		count_lost(LOST_STACKS);
		goto out;
	}
	if (thread->n_pending)
		restore_return_addresses(index);
	identify(scratch, index, regs, process, end);
	hash = scratch->record.hash;
	if (define_always || !is_known(hash))
		n_sent = define_stack(scratch, index, regs, process, thread->tid, end);
out:
	scratch_release(scratch);
	/* Only now: whoever waits must not keep others from a buffer. */
	if (n_sent)
		relieve_pressure(n_sent);
	return hash;
}

#endif
