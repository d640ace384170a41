/* profile.h: a whole profile folder in memory, as tests want it. */
#ifndef TESTS_SUPPORT_PROFILE_H
#define TESTS_SUPPORT_PROFILE_H

#include <json-c/json.h>

#include "artifact/reader.h"
#include "support/heap_event.h"

/* A StackDefinition without its bytes. */
struct profile_definition {
	uint64_t hash;
	uint64_t timestamp;
	uint64_t sp;
	uint64_t pc;
	size_t n_bytes;
	size_t n_fp_chain;
	uint64_t fp_chain[2]; /* the first two of it */
	uint32_t pid;
	bool truncated;
};

/* Any event that is neither an allocator call nor a definition. */
struct profile_other {
	enum event_type type;
	uint32_t pid;
	uint32_t tid;
	uint64_t timestamp;
	uint64_t addr;
	uint64_t size; /* Mapping: its length */
	uint32_t parent_pid;
	bool shares_memory;
	char *path; /* Mapping */
};

struct profile {
	char *folder;
	struct heap_event *calls; /* Malloc … Free, in stream order */
	size_t n_calls;
	struct profile_definition *definitions;
	size_t n_definitions;
	struct profile_other *others;
	size_t n_others;
	int end; /* enum artifact_state or a negative errno */
	uint64_t n_unknown;
	uint64_t n_malformed;
	struct json_object *metadata; /* memory_metadata.json; NULL when it is missing or broken */
	struct json_object *summary;  /* summary.json; the same */
};

/* Reads everything there is. 0; -ENOENT when there is no artifact; -EEXIST when there are several. */
int profile_load(const char *folder, struct profile *ret_profile);

void profile_deinit(struct profile *profile);

/* Allocations (not frees), and distinct hashes they name. */
size_t profile_n_allocations(const struct profile *profile);
size_t profile_n_hashes(const struct profile *profile);

/* Allocations without a hash, and allocations whose hash has no definition. */
size_t profile_n_without_stack(const struct profile *profile);
size_t profile_n_undefined(const struct profile *profile);

/* The sum of all counters under `lost`; UINT64_MAX when there is no metadata. */
uint64_t profile_n_lost(const struct profile *profile);

/* Entries of `not_traced`. */
size_t profile_n_not_traced(const struct profile *profile);

/* The name of a process, or NULL. */
const char *profile_process_name(const struct profile *profile, uint32_t pid);

/* Processes of that name. */
size_t profile_count_named(const struct profile *profile, const char *name);

/* Events of a type among `others`; the first of that type for a pid, or NULL. */
size_t profile_count_other(const struct profile *profile, enum event_type type);
const struct profile_other *profile_find_other(
        const struct profile *profile, enum event_type type, uint32_t pid);

#endif
