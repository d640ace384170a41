/* names.h: the names of processes, as last seen. */
#ifndef PLUGIN_DRAIN_NAMES_H
#define PLUGIN_DRAIN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct process_name {
	uint32_t pid;
	bool ended;
	uint64_t timestamp; /* of the name */
	char comm[RECORD_COMM_SIZE + 1];
};

struct names {
	struct process_name *entries;
	size_t n_entries;
	size_t n_slots; /* of the index; a power of two or 0 */
	uint32_t *index; /* open addressing by pid: position in entries + 1, or 0 */
};

/* Sets the name of `pid` as of `timestamp`, unless a later one is known. 0 or -ENOMEM. A zeroed struct is an empty
 * table. */
int names_set(struct names *names, uint32_t pid, const char comm[RECORD_COMM_SIZE], uint64_t timestamp, bool ended);

/* Asks the system for the names of processes that have not ended. */
void names_refresh(struct names *names);

void names_deinit(struct names *names);

#endif
