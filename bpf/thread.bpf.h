/* thread.bpf.h: the state of a tracked task, found by its number.
 *
 * Task storage would do the same; but each look-up of it is a call into parts of the kernel that nothing else here
 * needs, 45 ns at a probe, three times for a pair of malloc and free. This table is read in line.
 */
#ifndef BPF_THREAD_BPF_H
#define BPF_THREAD_BPF_H

#include "maps.bpf.h"

#define THREAD_BUCKETS (MAX_THREADS / THREAD_WAYS)
#define THREAD_NONE    MAX_THREADS

static __always_inline struct thread_bucket *thread_bucket_of(u32 number)
{
	u32 key = number & (THREAD_BUCKETS - 1);

	return bpf_map_lookup_elem(&thread_numbers, &key);
}

static __always_inline u32 thread_index(u32 number)
{
	struct thread_bucket *bucket = thread_bucket_of(number);

	if (!bucket)
		return THREAD_NONE;
#pragma unroll
	for (u32 way = 0; way < THREAD_WAYS; way++)
		if (bucket->numbers[way] == number)
			return (number & (THREAD_BUCKETS - 1)) * THREAD_WAYS + way;
	return THREAD_NONE;
}

/* The state of the task that the kernel numbers so, in its first PID namespace; NULL where it is not tracked. */
static __always_inline struct thread *thread_of(u32 number)
{
	u32 index = thread_index(number);

	return index == THREAD_NONE ? NULL : bpf_map_lookup_elem(&threads, &index);
}

static __always_inline struct thread *current_thread(void)
{
	return thread_of(bpf_get_current_task_btf()->pid);
}

/* State for a task, with what was left in it by another one; NULL: there is no room. */
static __always_inline struct thread *thread_take(u32 number)
{
	struct thread_bucket *bucket = thread_bucket_of(number);

	if (!bucket)
		return NULL;
	for (u32 way = 0; way < THREAD_WAYS; way++)
		if (__sync_val_compare_and_swap(&bucket->numbers[way], 0, number) == 0)
			return thread_of(number);
	return NULL;
}

static __always_inline void thread_leave(u32 number)
{
	struct thread_bucket *bucket = thread_bucket_of(number);

	if (!bucket)
		return;
	for (u32 way = 0; way < THREAD_WAYS; way++)
		if (bucket->numbers[way] == number)
			bucket->numbers[way] = 0;
}

/* What tells tasks apart without asking who is current: where their kernel stack is, on which the registers of a probe
 * lie. Counted from a place of our own, since only the distance of two addresses is a number to the verifier. */
static __always_inline u64 kernel_stack_of(const struct pt_regs *regs)
{
	u64 distance;

	asm volatile("%0 = %1\n\t%0 -= %2" : "=&r"(distance) : "r"(regs), "r"(&root_pid));
	return distance;
}

/* The state of the task that hit a probe: its number is asked for only where its stack is not known yet. */
static __always_inline struct thread *thread_at_probe(const struct pt_regs *regs)
{
	u64 stack = kernel_stack_of(regs);
	u32 key = BELOW(stack * 0x9e3779b97f4a7c15ull >> 32, MAX_STACKS), index;
	u32 *known = bpf_map_lookup_elem(&thread_stacks, &key);
	struct thread *thread;

	if (!known)
		return NULL;
	index = *known;
	thread = bpf_map_lookup_elem(&threads, &index);
	if (thread && thread->kernel_stack == stack)
		return thread;
	index = thread_index(bpf_get_current_task_btf()->pid);
	thread = bpf_map_lookup_elem(&threads, &index);
	if (thread) {
		thread->kernel_stack = stack;
		*known = index;
	}
	return thread;
}

/* What an address where a probe was hit is: kept, since asking is dear too. NULL: not known. An address is either a
 * probed instruction or one that a call returns to: no call stands in front of a probed one. */
static __always_inline struct site *site_find(struct thread *thread, u64 ip)
{
	struct site *site = &thread->sites[(ip ^ ip >> 4) & (MAX_SITES - 1)];

	return site->ip == ip && site->layout == layout ? site : NULL;
}

static __always_inline u64 site_keep(struct thread *thread, u64 ip, u64 cookie)
{
	struct site *site = &thread->sites[(ip ^ ip >> 4) & (MAX_SITES - 1)];

	site->ip = ip;
	site->cookie = cookie;
	site->layout = layout;
	return cookie;
}

static __always_inline struct process *process_of(const struct thread *thread)
{
	u32 key = thread->process;

	return bpf_map_lookup_elem(&processes, &key);
}

#endif
