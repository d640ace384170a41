/* state.bpf.h: what the kernel side remembers of threads, processes and their executable mappings. */
#ifndef BPF_STATE_BPF_H
#define BPF_STATE_BPF_H

/* An allocator entry that has not returned. */
struct pending {
	u64 slot;           /* SP at entry: where the return address is (on arm64: was pushed from, if at all) */
	u64 entered;
	u64 size;
	u64 pointer; /* the old block of a realloc */
	u64 result;  /* address through which the new block's address comes back; 0: the return value */
	u64 stack_hash;
	u32 kind;
	u32 recorded; /* recording was on at entry */
};

/* Calls that are not in the ring yet, see calls.bpf.h. */
struct room {
	u32 busy;
	u32 n_calls;
	u32 n_bytes;
	struct record_head head;
	u8 bytes[ROOM_BYTES + CALL_WORDS_MAX * 8]; /* what lies beyond ROOM_BYTES is for the verifier */
};

#define THREAD_WAYS 8

/* Tracked tasks, 0: none; as many as fit a cache line. */
struct thread_bucket {
	u64 tasks[THREAD_WAYS];
};

#define SITE_RETURN 0

/* An address where a probe was hit. */
struct site {
	u64 ip;
	u64 cookie; /* of the function, or SITE_RETURN: a call returns to it */
	u64 layout; /* when that was: code may have been mapped elsewhere since */
};

#define MAX_SITES 16 /* power of two */

struct thread {
	u64 kernel_stack; /* which one it runs on, see thread_at_probe; 0: not known */
	u32 process; /* index */
	u32 room;    /* where its last call was put */
	u32 tid;     /* as the runner sees it */
	u32 pid;     /* that of its process, here to be at hand */
	u64 stack_low, stack_high; /* the stack last seen in use; high is where copies end */
	u64 free_pointer, free_sp; /* the last free entry, if it may call another one; else 0 */
	u32 n_pending;
	u64 free_inside; /* SP at the entry of a free that the allocator calls for itself, or 0 */
	struct site sites[MAX_SITES];
	struct pending pending[MAX_PENDING];
};

struct process {
	u32 used;
	u32 pid; /* as the runner sees it */
	u32 image;
	u32 n_threads; /* tracked ones */
};

/* What a range holds: anonymous code, or a file's, whose number among the modules is in the upper half (0: not
 * known). */
#define RANGE_FILE        0
#define RANGE_ANONYMOUS   1
#define RANGE_KIND(tag)   ((u32)(tag) & 1)
#define RANGE_MODULE(tag) ((u32)((tag) >> 32))
#define RANGE_OF(module)  ((u64)(module) << 32 | RANGE_FILE)

struct range {
	u64 start, end;
	u64 tag;
	u64 file_offset; /* of start */
};

/* The executable mappings of one or more processes. Never changed while in use: a change makes a new image, so
 * that readers need no lock. */
struct image {
	u32 references; /* 0: free */
	u32 version;    /* changes with every reuse: a reader that was overtaken can tell */
	u32 n_ranges;
	u32 unusable; /* a mapping is missing: code addresses cannot be told from data */
	u64 generation;           /* number of this set of file mappings, never reused */
	u64 anonymous_generation; /* the same for anonymous ones (JIT) */
	u64 low, high;            /* bounds of all ranges */
	u64 gap_low, gap_high;    /* the largest hole between them */
	struct range ranges[MAX_IMAGE_RANGES]; /* sorted, disjoint */
};

#define TRAIL_FRAMES 512 /* power of two */

/* A frame of a walk: where the thread is in it, and how it led to its caller, the next one. As large as a cache line. */
struct frame {
	u64 sp, pc, fp;
	u64 place; /* of pc, see struct located */
	u64 fp_at; /* where the caller's frame pointer was read, and what that was; where none was, the return address */
	u64 fp_word;
	u64 next; /* distance from the first frame, bytes */
	u64 unused;
};

#define FP_NOWHERE 0 /* the step took more than to read two words */

/* The frames of recent walks, linked from the inside out. The first one is no frame but leads to the innermost, the
 * second one takes links that lead nowhere. */
struct trail {
	u64 salt; /* of the mappings they are of */
	u64 n_bytes; /* that are in use */
	struct frame frames[TRAIL_FRAMES];
};

/* A walk under way, where it is kept between the steps that are functions of their own. */
struct walk {
	u64 pc, sp, fp;
	u64 hash;
	u64 salt; /* of the keys: the generation, spread */
	u64 stack_end;
	u64 slot;  /* of a return address that is looked for, or all ones */
	u64 place; /* of the address looked up last, and its rule */
	u32 rule;
	u32 image;
	u32 version; /* of the image */
	u32 exact; /* pc is where the thread is, not behind a call */
	u32 end;   /* enum walk_end */
};

/* A definition under construction: the record and, contiguous, its stack bytes and chain. The room behind the
 * largest budget is for the chain, and what the verifier thinks a page-wise copy could need. */
struct scratch {
	u32 busy;
	u32 reach;   /* bytes of a stack that recent walks needed */
	u32 n_holes; /* pages of the copied stack that could not be read */
	struct walk walk;
	struct record_stack record;
	u8 bytes[STACK_BUDGET_MAX + 4096] __attribute__((aligned(8)));
	struct trail trail;
};

/* What an address in a file's code means, for one set of file mappings. Written without a lock: an entry that two
 * writers mixed fails its check. */
struct located {
	u64 key;   /* address and generation */
	u64 place; /* hash of module and file offset */
	u64 check;
	u64 rule;
};

struct file_key {
	u64 dev, ino;
};

#endif
