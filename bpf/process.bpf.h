/* process.bpf.h: which tasks are tracked: from the benchmark's exec on, every descendant. */
#ifndef BPF_PROCESS_BPF_H
#define BPF_PROCESS_BPF_H

#include "calls.bpf.h"
#include "image.bpf.h"

/* A pid as the namespace of the runner numbers it; 0 where the runner cannot see the task. */
static __always_inline u32 runner_view(struct task_struct *task)
{
	struct pid *pid = task->thread_pid;
	struct upid upid = {};
	u64 at;

	if (!pid || pid->level < runner_level)
		return 0;
	at = (u64)pid + bpf_core_field_offset(struct pid, numbers) + runner_level * bpf_core_type_size(struct upid);
	if (bpf_core_read(&upid.nr, sizeof(upid.nr), &((struct upid *)at)->nr) ||
		bpf_core_read(&upid.ns, sizeof(upid.ns), &((struct upid *)at)->ns))
		return 0;
	return (u64)upid.ns == runner_namespace ? upid.nr : 0;
}

static long process_count(u32 index, u32 *n)
{
	struct process *process = bpf_map_lookup_elem(&processes, &index);

	*n += process && process->used;
	return 0;
}

struct slot_context {
	u32 start;
	u32 taken;
};

static long process_try_take(u32 i, struct slot_context *context)
{
	u32 index = (context->start + i) & (MAX_PROCESSES - 1);
	struct process *process = bpf_map_lookup_elem(&processes, &index);

	if (!process || !try_claim(&process->used))
		return 0;
	context->taken = index;
	return 1;
}

/* A free process slot, or MAX_PROCESSES and counted. */
static __always_inline u32 process_take(void)
{
	struct slot_context context = {
		.start = __sync_fetch_and_add(&process_cursor, 1),
		.taken = MAX_PROCESSES,
	};

	bpf_loop(MAX_PROCESSES, process_try_take, &context, 0);
	if (context.taken == MAX_PROCESSES)
		count_lost(LOST_PROCESSES);
	return context.taken;
}

static __always_inline void emit_process(u32 kind, struct process *process, struct thread *thread,
	struct task_struct *task, u32 parent_pid, u32 flags, u64 now)
{
	struct record_process *record = ring_reserve(struct record_process);

	if (!record)
		return;
	fill_head(&record->head, kind, process->pid, thread->tid, now);
	record->head.flags = flags;
	record->parent_pid = parent_pid;
	record->slot = thread->process;
	bpf_core_read(record->comm, sizeof(record->comm), &task->group_leader->comm);
	ring_submit(record);
}

/* Nothing of what the thread did so far is of use from here on. */
static __always_inline void thread_reset(struct thread *thread)
{
	thread->kernel_stack = 0;
	thread->n_pending = 0;
	thread->stack_low = thread->stack_high = 0;
	thread->free_pointer = 0;
	thread->free_inside = 0;
	for (u32 i = 0; i < MAX_SITES; i++)
		thread->sites[i].ip = 0;
}

/* State for a task that becomes tracked, or NULL and counted. */
static __always_inline struct thread *thread_new(struct task_struct *task, u32 process)
{
	struct thread *thread = thread_take(task);
	struct process *slot = bpf_map_lookup_elem(&processes, &process);

	if (!thread) {
		count_lost(LOST_THREADS);
		return NULL;
	}
	if (slot)
		__sync_fetch_and_add(&slot->n_threads, 1);
	thread->process = process;
	thread->tid = runner_view(task);
	thread->pid = slot ? slot->pid : 0;
	thread_reset(thread);
	return thread;
}

/* A reference to the image of a process, which another of its threads may be changing. */
static __always_inline u32 image_share(const struct process *process)
{
	for (int attempt = 0; attempt < 8; attempt++) {
		u32 image = *(volatile u32 *)&process->image;

		image_ref(image);
		if (*(volatile u32 *)&process->image == image)
			return image;
		image_unref(image);
	}
	return IMAGE_NONE;
}

static __always_inline int on_fork(struct task_struct *parent, struct task_struct *child)
{
	struct thread *thread = thread_of(parent), *new_thread;
	struct process *process, *new_process;
	u32 slot;

	if (!thread)
		return 0;
	if (child->tgid == parent->tgid) {
		thread_new(child, thread->process);
		return 0;
	}
	process = process_of(thread);
	slot = process_take();
	new_process = bpf_map_lookup_elem(&processes, &slot);
	if (!process || !new_process)
		return 0;
	new_process->n_threads = 0;
	new_process->pid = runner_view(child);
	new_thread = thread_new(child, slot);
	if (!new_thread) {
		new_process->used = 0;
		return 0;
	}
	new_process->image = image_share(process);
	room_leave(thread->room);
	emit_process(RECORD_FORK, new_process, new_thread, child, process->pid,
		child->mm == parent->mm ? RECORD_FLAG_SHARES_MEMORY : 0, bpf_ktime_get_ns());
	return 0;
}

/* The state of a task at exec: its own, or a new one for the benchmark's first process. */
static __always_inline struct thread *thread_at_exec(struct task_struct *task)
{
	struct thread *thread = thread_of(task);
	struct process *process;
	u32 slot;

	if (thread)
		return thread;
	if (!root_pid || runner_view(task) != root_pid)
		return NULL;
	slot = process_take();
	process = bpf_map_lookup_elem(&processes, &slot);
	if (!process)
		return NULL;
	process->pid = root_pid;
	process->image = IMAGE_NONE;
	process->n_threads = 0;
	thread = thread_new(task, slot);
	if (thread)
		root_pid = 0; /* found; the number may come up again */
	else
		process->used = 0;
	return thread;
}

static __always_inline int on_exec(struct task_struct *task)
{
	struct thread *thread = thread_at_exec(task);
	struct executed entry = {};
	struct process *process;
	u32 old;

	if (!thread)
		return 0;
	process = process_of(thread);
	if (!process)
		return 0;
	room_leave(thread->room);
	/* Another thread than the leader has taken over the leader's numbers. */
	thread->tid = runner_view(task);
	thread_reset(thread);
	old = process->image;
	process->image = image_new();
	image_unref(old);
	entry.slot = thread->process;
	entry.timestamp = bpf_ktime_get_ns();
	emit_process(RECORD_EXEC, process, thread, task, 0, 0, entry.timestamp);
	bpf_map_update_elem(&executed, &process->pid, &entry, BPF_ANY);
	return 0;
}

static __always_inline int on_exit(struct task_struct *task)
{
	struct thread *thread = thread_of(task);
	struct process *process;

	if (!thread)
		return 0;
	room_leave(thread->room);
	if (thread->n_pending)
		__sync_fetch_and_add(&notes[NOTE_ABANDONED], thread->n_pending);
	process = process_of(thread);
	/* Counted here: signal->live is 0 for every thread of a process that ends them all at once. */
	if (process && __sync_fetch_and_add(&process->n_threads, -1) == 1) {
		emit_process(RECORD_EXIT, process, thread, task, 0, 0, bpf_ktime_get_ns());
		bpf_map_delete_elem(&executed, &process->pid);
		image_unref(process->image);
		process->used = 0;
	}
	thread->kernel_stack = 0;
	thread_leave(task);
	return 0;
}

#endif
