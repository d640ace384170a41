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

static __always_inline struct process *process_of(const struct thread *thread)
{
	u32 key = thread->process;

	return bpf_map_lookup_elem(&processes, &key);
}

#endif
