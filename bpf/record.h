/* record.h: what the eBPF programs and the plugin say to each other: records, control values, limits.
 *
 * Self-contained: fixed-width types only, included by both sides. All addresses and sizes in bytes, times in
 * ns of CLOCK_MONOTONIC, pids and tids as the runner sees them.
 */
#ifndef BPF_RECORD_H
#define BPF_RECORD_H

#ifdef __bpf__
typedef unsigned char record_u8;
typedef unsigned short record_u16;
typedef unsigned int record_u32;
typedef unsigned long long record_u64;
#else
#include <stdint.h>
typedef uint8_t record_u8;
typedef uint16_t record_u16;
typedef uint32_t record_u32;
typedef uint64_t record_u64;
#endif

#define RECORD_COMM_SIZE 16
#define RECORD_N_REGS    33 /* DWARF slots of a definition, see FORMATS.md section 2 */

#define STACK_BUDGET_MIN     512u
#define STACK_BUDGET_DEFAULT 16384u
#define STACK_BUDGET_MAX     65536u
#define FP_CHAIN_MAX         128u /* frames of the frame-pointer walk */

/* Sizes of the kernel-side tables, all allocated when the object is loaded. */
#define MAX_PROCESSES      4096u    /* tracked at the same time; more are counted as lost */
#define MAX_THREADS        16384u   /* the same; power of two */
#define MAX_STACKS         8192u    /* kernel stacks whose thread is known; others are looked up; power of two */
#define MAX_IMAGES         1024u    /* distinct sets of executable mappings at the same time */
#define MAX_IMAGE_RANGES   1024u    /* executable mappings of one process; power of two */
#define MAX_SCRATCH        64u      /* captures under way at the same time */
#define MAX_PENDING        8u       /* allocator entries of one thread that are open at the same time */
#define MAX_KNOWN_STACKS   262144u  /* hashes remembered as defined; evicted ones are defined again */
#define MAX_RECENT         16384u   /* of them, in the table that is asked first; power of two */
#define MAX_MODULES        8192u    /* files with unwind rules; more have none */
#define MAX_LOCATED        65536u   /* code addresses whose meaning is cached; power of two */
#define RING_BYTES         (64u << 20)
#define MAX_ROOMS          256u     /* processors that keep calls by themselves; power of two */
#define ROOM_BYTES         2048u    /* of calls that are sent at once; power of two */

enum record_kind {
	RECORD_MALLOC = 1, /* these five stand in a RECORD_CALLS, see there */
	RECORD_CALLOC,
	RECORD_ALIGNED_ALLOC,
	RECORD_REALLOC,
	RECORD_FREE,
	RECORD_CALLS,
	RECORD_MMAP,
	RECORD_MUNMAP,
	RECORD_BRK,
	RECORD_FORK,
	RECORD_EXEC,
	RECORD_EXIT,
	RECORD_MAPPING,
	RECORD_STACK,
};

struct record_head {
	record_u32 kind; /* enum record_kind */
	record_u32 pid;
	record_u32 tid;
	record_u32 flags; /* RECORD_FLAG_… */
	record_u64 timestamp;
};

#define RECORD_FLAG_SHARES_MEMORY 1u /* RECORD_FORK */
#define RECORD_FLAG_TRUNCATED     2u /* RECORD_STACK: the copy filled its budget */

/* RECORD_CALLS: a head, of which only the kind means something, followed by allocator calls of a few words each:
 *
 *     kind and time, task, addr                                        RECORD_FREE
 *     kind and time, task, addr, size, stack_hash (0: none)            RECORD_MALLOC, RECORD_CALLOC, RECORD_ALIGNED_ALLOC
 *     kind and time, task, addr, size, stack_hash, old_addr, entered   RECORD_REALLOC
 */
#define CALL_WORD(kind, time) ((record_u64)(kind) << 60 | (time)) /* 36 years */
#define CALL_KIND(word)       ((record_u32)((word) >> 60))
#define CALL_TIME(word)       ((word) & ~0ull >> 4)

#define CALL_TASK(pid, tid) ((record_u64)(pid) << 32 | (tid))
#define CALL_PID(word)      ((record_u32)((word) >> 32))
#define CALL_TID(word)      ((record_u32)(word))

#define CALL_WORDS_FREE    3u
#define CALL_WORDS_ALLOC   5u
#define CALL_WORDS_REALLOC 7u
#define CALL_WORDS_MAX     CALL_WORDS_REALLOC

/* RECORD_MMAP, RECORD_MUNMAP, RECORD_BRK. */
struct record_map {
	struct record_head head;
	record_u64 addr;
	record_u64 size;
};

/* RECORD_FORK, RECORD_EXEC, RECORD_EXIT. */
struct record_process {
	struct record_head head;
	record_u32 parent_pid; /* RECORD_FORK */
	record_u32 slot;       /* index in the processes map */
	char comm[RECORD_COMM_SIZE]; /* of the thread-group leader */
};

/* RECORD_MAPPING: an executable mapping of a file. */
struct record_mapping {
	struct record_head head;
	record_u64 addr;
	record_u64 len;
	record_u64 file_offset;
	record_u64 dev; /* major << 20 | minor, the kernel's own encoding */
	record_u64 ino;
};

/* RECORD_STACK: followed by n_bytes of stack memory and then n_fp_chain addresses. */
struct record_stack {
	struct record_head head;
	record_u64 hash;
	record_u64 sp;
	record_u64 regs[RECORD_N_REGS];
	record_u32 n_bytes;
	record_u32 n_fp_chain;
};

/* The attach cookie of an allocator entry: what the function is and where its arguments are. One number, so
 * that a new allocator is a row of the plugin's table and not code. */
#define COOKIE_NO_ARGUMENT 7u

#define COOKIE_KIND(c)     ((record_u32)((c) & 0xff))         /* enum record_kind */
#define COOKIE_SIZE(c)     ((record_u32)((c) >> 8 & 7))       /* argument that holds the size */
#define COOKIE_COUNT(c)    ((record_u32)((c) >> 11 & 7))      /* argument the size is multiplied with */
#define COOKIE_POINTER(c)  ((record_u32)((c) >> 14 & 7))      /* block that is freed or reallocated */
#define COOKIE_RESULT(c)   ((record_u32)((c) >> 17 & 7))      /* pointer through which the address returns */
#define COOKIE_FORWARDS(c) ((record_u32)((c) >> 20 & 1))      /* free: may call another traced free */
#define COOKIE(kind, size, count, pointer, result, forwards)                                               \
	((record_u64)(kind) | (record_u64)(size) << 8 | (record_u64)(count) << 11 |                        \
		(record_u64)(pointer) << 14 | (record_u64)(result) << 17 | (record_u64)(forwards) << 20)

#define COOKIE_FORWARDS_BIT COOKIE(0, 0, 0, 0, 0, 1)

/* Where all arguments are: the commonest case is told by one comparison. */
#define COOKIE_ARGUMENTS(c) ((c) & COOKIE(0, 7, 7, 7, 7, 0))
#define COOKIE_ARGUMENTS_OF_MALLOC                                                                         \
	COOKIE(0, 0, COOKIE_NO_ARGUMENT, COOKIE_NO_ARGUMENT, COOKIE_NO_ARGUMENT, 0)

/* Events that happened and could not be recorded, by the place where they were dropped. */
enum lost_counter {
	LOST_RING_EVENTS,      /* the ring was full */
	LOST_RING_DEFINITIONS, /* the ring was full; the stack is defined by its next use, if there is one */
	LOST_PENDING,          /* a thread had MAX_PENDING allocator entries open */
	LOST_THREADS,          /* about MAX_THREADS at the same time */
	LOST_PROCESSES,        /* more than MAX_PROCESSES */
	LOST_SCRATCH,          /* no scratch buffer: an allocation without stack */
	LOST_STACKS,           /* the stack could not be read: an allocation without stack */
	LOST_RESULTS,          /* the address returned through a pointer could not be read */
	LOST_MAPPINGS,         /* the file behind an executable mapping could not be determined */
	LOST_N,
};

/* Facts that are no loss. */
enum note_counter {
	NOTE_DEFINITIONS, /* definitions sent */
	NOTE_ABANDONED,   /* allocator entries that never returned (longjmp, a thread killed inside) */
	NOTE_MUTED,       /* allocator entries inside another one */
	NOTE_HOLES,       /* unreadable pages inside a stack, taken as zero */
	NOTE_RAW,         /* captures identified by raw bytes because the image was too large or in motion */
	NOTE_BY_CODE,     /* captures that a path was wanted for and that code pointers identify */
	NOTE_WAITS,       /* times a producer was made to wait for the consumer */
	NOTE_WAITED,      /* how long in all, ns */
	NOTE_N,
};

enum stack_identity {
	IDENTITY_CODE = 0,
	IDENTITY_RAW = 1,
	IDENTITY_PATH = 2,
};

/* A row of a module's unwind rules: file offset in the upper half, rule in the lower: kind, CFA offset in words,
 * and where the caller's frame pointer is, in words below the CFA. */
#define RULE_ROW(offset, rule) ((record_u64)(offset) << 32 | (rule))
#define RULE_OFFSET(row)       ((record_u32)((row) >> 32))
#define RULE_KIND(rule)        ((rule) & 7)
#define RULE_CFA(rule)         ((rule) >> 3 & 0xfffff)
#define RULE_FP(rule)          ((rule) >> 23)
#define RULE(kind, cfa, fp)    ((record_u32)(kind) | (record_u32)(cfa) << 3 | (record_u32)(fp) << 23)

#define RULE_CFA_MAX 0xfffffu /* words */
#define RULE_FP_MAX  509u     /* words */
#define RULE_FP_SAME 0u       /* the register still holds it */
#define RULE_FP_HERE 510u     /* at the address the frame pointer holds (realigned frames) */
#define RULE_FP_LOST 511u     /* no simple rule */

enum rule_kind {
	RULE_NONE = 0,    /* no unwind data */
	RULE_SP,          /* CFA = SP + offset */
	RULE_FP_BASED,    /* CFA = FP + offset */
	RULE_DEREF,       /* CFA = word at FP - offset (realigned frames) */
	RULE_PLT,         /* CFA = SP + 8 + ((PC & 15) >= 11) * 8 */
	RULE_SIGNAL,      /* SP points to a struct ucontext */
	RULE_END,         /* the first frame of a thread: no caller */
	RULE_UNSUPPORTED, /* there is a rule, in no form above */
};

/* Context of the program that adds a mapping which no system call shows: those execve itself makes. */
struct mapping_request {
	record_u32 slot; /* of the process */
	record_u32 pid;
	record_u64 addr;
	record_u64 len;
	record_u64 file_offset;
	record_u64 dev;
	record_u64 ino;
	record_u64 timestamp;
};

/* Context of the program that asks how the kernel names an open file of the caller. */
struct file_request {
	record_u32 fd;
	record_u32 found; /* out: 1 when fd is open */
	record_u64 dev;   /* out */
	record_u64 ino;   /* out */
};

/* Context of the program that sends the calls which are kept. */
struct flush_request {
	record_u32 n_left;      /* out: rooms that are not empty, or that somebody is at */
	record_u32 n_processes; /* out: that are tracked and have not ended */
};

/* Value of the executed map: key is a pid whose program started and whose first mappings were not added yet. */
struct executed {
	record_u32 slot;
	record_u32 reserved;
	record_u64 timestamp;
};

#endif
