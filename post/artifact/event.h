/* event.h: one event of a MemtrackArtifact (FORMATS.md section 2) in memory. */
#ifndef POST_ARTIFACT_EVENT_H
#define POST_ARTIFACT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DWARF register numbers that have a slot in a definition, and the slots of the special ones. */
#define EVENT_N_REGS       33
#define EVENT_REG_X86_RSP  7
#define EVENT_REG_X86_RIP  16
#define EVENT_REG_ARM64_SP 31
#define EVENT_REG_ARM64_PC 32

enum event_type {
	EVENT_MALLOC,
	EVENT_CALLOC,
	EVENT_ALIGNED_ALLOC,
	EVENT_REALLOC,
	EVENT_FREE,
	EVENT_MMAP,
	EVENT_MUNMAP,
	EVENT_BRK,
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_EXIT,
	EVENT_MAPPING,
	EVENT_STACK_DEFINITION,
	EVENT_N_TYPES
};

/* The call stack that a hash names. */
struct event_stack {
	uint64_t hash; /* never 0 */
	uint64_t sp;   /* address of bytes[0] */
	uint64_t regs[EVENT_N_REGS];
	const uint8_t *bytes;
	size_t n_bytes;
	const uint64_t *fp_chain; /* addresses, innermost first */
	size_t n_fp_chain;
	bool truncated;
};

/* A file's executable mapping. */
struct event_mapping {
	const char *path; /* not NUL-terminated where the reader made it: use n_path */
	size_t n_path;
	uint64_t dev; /* major << 20 | minor */
	uint64_t ino;
	uint64_t file_offset; /* bytes */
	uint64_t len;         /* bytes */
};

/* Addresses and sizes in bytes, times in ns of CLOCK_MONOTONIC. Fields that the type does not have are 0. */
struct event {
	enum event_type type;
	uint32_t pid; /* as seen by the runner */
	uint32_t tid;
	uint64_t timestamp;
	uint64_t addr;
	uint64_t size;       /* allocations, Mmap, Munmap, Brk */
	uint64_t stack_hash; /* allocations; 0: none */
	uint64_t old_addr;   /* Realloc; 0: none */
	uint64_t entered;    /* Realloc with old_addr */
	uint32_t parent_pid; /* Fork */
	bool shares_memory;  /* Fork */
	struct event_mapping mapping;
	struct event_stack stack;
};

/* The name an event type has in the stream. */
const char *event_type_name(enum event_type type);

/* Malloc, Calloc, AlignedAlloc, Realloc. */
static inline bool event_is_allocation(enum event_type type)
{
	return type <= EVENT_REALLOC;
}

#endif
