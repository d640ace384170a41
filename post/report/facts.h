/* facts.h: what memory_metadata.json says besides what the resolver needs (FORMATS.md section 6). */
#ifndef POST_REPORT_FACTS_H
#define POST_REPORT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fact_name {
	uint32_t pid;
	char *name;
};

struct fact_lost {
	char *counter;
	uint64_t n; /* above 0 */
};

struct fact_not_traced {
	char *path;
	uint32_t pid;
	char *reason;
};

struct fact_unreadable {
	char *path; /* of the module; its key where the path is not known */
	char *reason;
};

/* A zeroed one is valid and knows nothing. */
struct facts {
	char *arch;             /* NULL: unknown */
	char *integration_name; /* NULL: none announced itself */
	char *integration_version;
	struct fact_name *names; /* sorted by pid */
	size_t n_names, n_names_allocated;
	struct fact_lost *lost;
	size_t n_lost, n_lost_allocated;
	struct fact_not_traced *not_traced;
	size_t n_not_traced, n_not_traced_allocated;
	struct fact_unreadable *unreadable;
	size_t n_unreadable, n_unreadable_allocated;
};

/* Reads the file below the profile folder. Entries that are not what they should be are left out. 0, -ENOENT,
 * -EBADMSG (no JSON object), -EFBIG, or another negative errno. */
int facts_read(int profile_fd, struct facts *ret_facts);

/* The name of a process, or NULL. */
const char *facts_process_name(const struct facts *facts, uint32_t pid);

/* Events that happened and are not in the stream, over all counters; stops at UINT64_MAX. */
uint64_t facts_n_lost(const struct facts *facts);

void facts_deinit(struct facts *facts);

#endif
