/* scrub.bpf.h: definitions without the program's data.
 *
 * An unwinder needs return addresses, frame pointers and saved stack pointers; all else on a stack is what the program
 * works with, and becomes zero.
 */
#ifndef BPF_SCRUB_BPF_H
#define BPF_SCRUB_BPF_H

#include "copy.bpf.h"

struct scrub {
	struct scratch *scratch;
	u64 low, high;             /* the copied stack, as far as it goes */
	u64 other_low, other_high; /* the thread's ordinary one, where that is another */
	u32 image;
};

static __always_inline u64 scrubbed(const struct scrub *scrub, u64 word)
{
	if (word - scrub->low < scrub->high - scrub->low || word - scrub->other_low < scrub->other_high - scrub->other_low)
		return word;
	return image_tag(scrub->image, word) == TAG_NOT_CODE ? 0 : word;
}

static long scrub_word(u32 i, struct scrub *scrub)
{
	u64 *word;

	if (i * 8 >= scrub->scratch->record.n_bytes)
		return 1;
	word = stack_word(scrub->scratch, i);
	*word = scrubbed(scrub, *word);
	return 0;
}

static long scrub_register(u32 i, struct scrub *scrub)
{
	u64 *value;

	if (i >= RECORD_N_REGS)
		return 1;
	value = &scrub->scratch->record.regs[i];
	*value = scrubbed(scrub, *value);
	return 0;
}

/* `end`: of the stack that was copied, 0 where it is not known. */
__noinline int scrub_definition(u32 index, u32 image, u64 end)
{
	struct scrub scrub = {.scratch = scratch_get(index), .image = image};
	struct thread *thread = current_thread();

	if (!scrub.scratch || !thread)
		return 0;
	scrub.low = scrub.scratch->record.sp;
	scrub.high = scrub.low + scrub.scratch->record.n_bytes;
	if (end > scrub.high)
		scrub.high = end;
	if (thread->stack_low) {
		scrub.other_low = thread->stack_low;
		scrub.other_high = thread->stack_high;
	}
	bpf_loop(STACK_BUDGET_MAX / 8, scrub_word, &scrub, 0);
	bpf_loop(RECORD_N_REGS, scrub_register, &scrub, 0);
	return 0;
}

#endif
