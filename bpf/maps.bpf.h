/* maps.bpf.h: knobs, maps and the small helpers that every program uses. */
#ifndef BPF_MAPS_BPF_H
#define BPF_MAPS_BPF_H

#include "state.bpf.h"

/* Kernel type names, since these reach the plugin through the generated header.
 *
 * Knobs, set before the object is loaded. */
const volatile __u32 stack_identity = IDENTITY_PATH;
const volatile __u32 scrub_stacks = 0; /* definitions keep addresses of code and stack only */
const volatile __u32 define_always = 0; /* debugging: every capture sends its definition */
const volatile __u32 with_stacks = 0;
const volatile __u32 loops_converge = 0; /* the kernel knows may_goto, see loop.bpf.h */

/* Set before the object is loaded too, but no constant to the verifier: what it accepts for one value it must
 * accept for all. */
volatile __u32 stack_budget = STACK_BUDGET_DEFAULT; /* bytes */

/* Set by identify_runner: how pids are translated to the runner's view. */
__u32 runner_level = 0; /* depth of the runner's PID namespace */
__u64 runner_namespace = 0;

/* Set by the plugin while it runs. */
__u32 root_pid = 0;           /* the benchmark's first process, as the runner sees it; tracked from its exec */
volatile __u32 recording = 1; /* allocations are recorded; 0 between stop and start */

__u64 lost[LOST_N] = {};
__u64 notes[NOTE_N] = {};

/* Where the next free slot is looked for: slots are reused as late as possible. */
__u32 process_cursor = 0;
__u32 image_cursor = 0;
__u64 generation_cursor = 0;

__u64 layout = 1; /* changes when any process's executable mappings do */

/* Records in the order in which they were reserved. Full: the record is dropped and counted. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ring SEC(".maps");

/* Key: hash of a task; value: who is in the places of `threads` that belong to it. Full: the task is not tracked and
 * counted. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_THREADS / THREAD_WAYS);
	__type(key, u32);
	__type(value, struct thread_bucket);
} thread_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_THREADS);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* Key: hash of where a kernel stack is; value: a thread that may be the one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_STACKS);
	__type(key, u32);
	__type(value, u32);
} thread_stacks SEC(".maps");

/* Key: number of a processor. In use: the call is sent by itself. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_ROOMS);
	__type(key, u32);
	__type(value, struct room);
} rooms SEC(".maps");

/* Key: thread.process. Full: the child is not tracked and counted. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_PROCESSES);
	__type(key, u32);
	__type(value, struct process);
} processes SEC(".maps");

/* Key: process.image. Full: the process goes on with the image it has, marked as unusable for identity. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_IMAGES);
	__type(key, u32);
	__type(value, struct image);
} images SEC(".maps");

/* Claimed by one capture at a time. All claimed: that allocation has no stack, counted. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_SCRATCH);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* Key: hash of a stack whose definition is in the ring or beyond. Full: the oldest is forgotten and, if it
 * comes up again, defined again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_KNOWN_STACKS);
	__type(key, u64);
	__type(value, u32);
} known_stacks SEC(".maps");

/* Key: bits of a hash; value: a hash known to be defined. Entries are overwritten. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_RECENT);
	__type(key, u32);
	__type(value, u64);
} recent_stacks SEC(".maps");

/* Key: pid of a process that called execve and whose first mappings the plugin has not added yet. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCESSES);
	__type(key, u32);
	__type(value, struct executed);
} executed SEC(".maps");

/* Key: number of a module; value: its rule rows, sorted, in a map of their own. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAX_MODULES);
	__type(key, u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(max_entries, 1);
		__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
		__type(key, u32);
		__type(value, u64);
	});
} module_rows SEC(".maps");

/* Key: number of a module; value: how many rows it has. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_MODULES);
	__type(key, u32);
	__type(value, u32);
} module_sizes SEC(".maps");

/* Key: a file that was classified; value: its number among the modules. Full: stacks through the file are
 * identified by code pointers. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_MODULES);
	__type(key, struct file_key);
	__type(value, u32);
} modules SEC(".maps");

/* Index: hash of address and generation. Entries are overwritten. A variable, not a map to be asked: no call in the
 * way of the walk. */
static struct located located_cache[MAX_LOCATED];

/* Always empty, see SHARES_NO_STACK. One for programs of each attach type. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} no_programs SEC(".maps"), no_sessions SEC(".maps");

/* Since Linux 6.13 programs at probes have their stack in memory of the processor instead of the task's own, which a
 * program at a uprobe, that may be preempted by another one, then shares with it. A program that might call another one
 * keeps the task's; the condition is never true. */
#define SHARES_NO_STACK(context, map)                                                                      \
	({                                                                                                 \
		if (!with_stacks && stack_budget == 0)                                                     \
			bpf_tail_call(context, &map, 0);                                                   \
	})

static __always_inline void count_lost(enum lost_counter counter)
{
	__sync_fetch_and_add(&lost[counter], 1);
}

static __always_inline void count_note(enum note_counter counter)
{
	__sync_fetch_and_add(&notes[counter], 1);
}

/* Keeps a value the compiler knows to be below a power of two visibly below it for the verifier. */
#define BELOW(value, power)                                                                                \
	({                                                                                                 \
		u64 below = (value);                                                                       \
		asm volatile("%0 &= %1" : "+r"(below) : "i"((power)-1));                                   \
		below;                                                                                     \
	})

/* Buffers that one program at a time may use. Nobody waits for one. */
static __always_inline int try_claim(u32 *busy)
{
	return __sync_val_compare_and_swap(busy, 0, 1) == 0;
}

static __always_inline void release(u32 *busy)
{
#if defined(__TARGET_ARCH_x86)
	asm volatile("" ::: "memory"); /* stores keep their order */
	*(volatile u32 *)busy = 0;
#else
	__sync_lock_test_and_set(busy, 0);
#endif
}

static __always_inline void fill_head(struct record_head *head, u32 kind, u32 pid, u32 tid, u64 timestamp)
{
	head->kind = kind;
	head->pid = pid;
	head->tid = tid;
	head->flags = 0;
	head->timestamp = timestamp;
}

/* Space for a record of fixed size, or NULL and counted. The plugin polls: no wake-up per record. */
#define ring_reserve(type)                                                                                 \
	({                                                                                                 \
		type *reserved = bpf_ringbuf_reserve(&ring, sizeof(type), 0);                              \
		if (!reserved)                                                                             \
			count_lost(LOST_RING_EVENTS);                                                      \
		reserved;                                                                                  \
	})

#define ring_submit(record) bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP)

#endif
