/* thread.bpf.h: the state of a tracked task.
 *
 * Task storage would do the same; but each look-up of it is a call into parts of the kernel that nothing else here
 * needs, 45 ns at a probe, three times for a pair of malloc and free. This table is read in line.
 */
#ifndef BPF_THREAD_BPF_H
#define BPF_THREAD_BPF_H

#include "maps.bpf.h"

#define THREAD_BUCKETS (MAX_THREADS / THREAD_WAYS)
#define THREAD_NONE    MAX_THREADS

/* How far something is from a place of our own: only the distance of two addresses is a number to the verifier. */
#define DISTANCE(pointer)                                                                                  \
	({                                                                                                 \
		u64 distance;                                                                              \
		asm volatile("%0 = %1\n\t%0 -= %2" : "=&r"(distance) : "r"(pointer), "r"(&root_pid));      \
		distance;                                                                                  \
	})

/* A task is known by where the kernel keeps it: its numbers change when a thread other than the leader calls execve. Each
 * has two buckets. */
static __always_inline u32 bucket_of(u64 task, u32 second)
{
	return BELOW(task * 0x9e3779b97f4a7c15ull >> 32, THREAD_BUCKETS) ^ second;
}

static __always_inline u32 bucket_find(u32 key, u64 task)
{
	struct thread_bucket *bucket = bpf_map_lookup_elem(&thread_tasks, &key);

	if (!bucket)
		return THREAD_NONE;
#pragma unroll
	for (u32 way = 0; way < THREAD_WAYS; way++)
		if (bucket->tasks[way] == task)
			return key * THREAD_WAYS + way;
	return THREAD_NONE;
}

static __always_inline u32 thread_index(u64 task)
{
	u32 index = bucket_find(bucket_of(task, 0), task);

	return index == THREAD_NONE ? bucket_find(bucket_of(task, 1), task) : index;
}

/* The state of a task, NULL where it is not tracked. */
static __always_inline struct thread *thread_of(struct task_struct *task)
{
	u32 index = thread_index(DISTANCE(task));

	return index == THREAD_NONE ? NULL : bpf_map_lookup_elem(&threads, &index);
}

static __always_inline struct thread *current_thread(void)
{
	return thread_of(bpf_get_current_task_btf());
}

/* Puts `to` where `from` is in one of the two buckets; the index of that place. */
static __always_inline u32 thread_replace(u64 task, u64 from, u64 to)
{
	for (u32 i = 0; i < 2 * THREAD_WAYS; i++) {
		u32 key = bucket_of(task, i / THREAD_WAYS), way = i % THREAD_WAYS;
		struct thread_bucket *bucket = bpf_map_lookup_elem(&thread_tasks, &key);

		if (bucket && __sync_val_compare_and_swap(&bucket->tasks[way], from, to) == from)
			return key * THREAD_WAYS + way;
	}
	return THREAD_NONE;
}

/* State for a task, with what was left in it by another one; NULL: there is no room. */
static __always_inline struct thread *thread_take(struct task_struct *task)
{
	u64 distance = DISTANCE(task);
	u32 index = thread_replace(distance, 0, distance);

	return index == THREAD_NONE ? NULL : bpf_map_lookup_elem(&threads, &index);
}

static __always_inline void thread_leave(struct task_struct *task)
{
	u64 distance = DISTANCE(task);

	thread_replace(distance, distance, 0);
}

/* The state of the task that hit a probe. The registers of a probe lie on the task's kernel stack, which tells tasks apart
 * too: who is current is asked only where that is not known yet. */
static __always_inline struct thread *thread_at_probe(const struct pt_regs *regs)
{
	u64 stack = DISTANCE(regs);
	u32 key = BELOW(stack * 0x9e3779b97f4a7c15ull >> 32, MAX_STACKS), index;
	u32 *known = bpf_map_lookup_elem(&thread_stacks, &key);
	struct thread *thread;

	if (!known)
		return NULL;
	index = *known;
	thread = bpf_map_lookup_elem(&threads, &index);
	if (thread && thread->kernel_stack == stack)
		return thread;
	index = thread_index(DISTANCE(bpf_get_current_task_btf()));
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
