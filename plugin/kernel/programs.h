/* programs.h: the eBPF object: loading it, attaching it, what it counted. */
#ifndef PLUGIN_KERNEL_PROGRAMS_H
#define PLUGIN_KERNEL_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/closing.h"
#include "record.h"
#include "util/log.h"

struct programs;

struct programs_settings {
	bool with_stacks;
	uint32_t stack_budget; /* bytes */
	enum stack_identity identity;
	bool scrub_stacks; /* definitions keep addresses of code and stack only */
	bool define_always; /* debugging: every capture sends its definition */
	bool loops_by_calls; /* as on kernels without may_goto */
	int mechanism;      /* enum attach_mechanism, or negative: the best one */
};

/* Loads the object into the kernel and attaches everything but the allocator probes. Says through `log` which
 * mechanisms were chosen, or what failed. libbpf's print callback is restored afterwards. Negative errno. */
int programs_new(const struct programs_settings *settings, const struct log_sink *log, struct programs **ret_programs);

/* From its next exec on the process `pid` is tracked with all its descendants. */
void programs_set_root(struct programs *programs, uint32_t pid);

/* Allocations are recorded, or not. In effect at return. */
void programs_set_recording(struct programs *programs, bool recording);

enum probe_kind {
	PROBE_ALLOCATION, /* entry and return */
	PROBE_FREE,       /* entry */
	PROBE_INTERNAL,   /* a call of free that the allocator makes for itself */
};

/* One place to probe. */
struct probe {
	uint64_t file_offset;
	uint64_t cookie;
	enum probe_kind kind;
};

/* Attaches to the file open at `fd`, for all processes that map it or will, until the links are closed. All or nothing.
 * Negative errno. */
int programs_attach(struct programs *programs, int fd, const struct probe *probes, unsigned n_probes,
	struct descriptors *ret_links);

/* Sends the calls that the kernel side has kept to the ring. Says what is left of them, since the ring is full or
 * somebody is at them, and how many processes have not ended. Negative errno. Any thread. */
int programs_flush(struct programs *programs, struct flush_request *ret_left);

/* Hands over what keeps everything but the allocator probes attached. With the links closed no record is added any more
 * by it. */
void programs_detach(struct programs *programs, struct descriptors *links, struct descriptors *events);

/* How the kernel names the file open at `fd`. -ENOENT when it has no name for it. */
int programs_identify_file(struct programs *programs, int fd, uint64_t *ret_dev, uint64_t *ret_ino);

/* Gives the kernel side the unwind rules of a file it names so: rows as rules_compile makes them. From then on new
 * mappings of the file use them. -ENOSPC when there are too many files. */
int programs_add_rules(struct programs *programs, uint64_t dev, uint64_t ino, const uint64_t *rows, size_t n_rows);

/* Bytes of kernel memory that rules take. */
uint64_t programs_rules_bytes(const struct programs *programs);

/* Adds an executable mapping that the kernel made at exec. The process must be held. */
int programs_add_mapping(struct programs *programs, const struct mapping_request *request);

/* Takes note that the first mappings of a process that has executed a program are being added now: true once per
 * exec. */
bool programs_take_executed(struct programs *programs, uint32_t pid, struct executed *ret_executed);

/* The ring's map; owned by `programs`. */
int programs_ring_fd(const struct programs *programs);

uint64_t programs_lost(const struct programs *programs, enum lost_counter counter);
void programs_add_lost(struct programs *programs, enum lost_counter counter, uint64_t n);
uint64_t programs_note(const struct programs *programs, enum note_counter counter);

/* NULL-safe; returns NULL. */
struct programs *programs_free(struct programs *programs);

#endif
