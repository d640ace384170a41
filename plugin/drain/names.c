/* names.c: a growing array with an index. */
#include "drain/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

static size_t slot_of(const struct names *names, uint32_t pid)
{
	size_t slot = pid * 2654435761u & (names->n_slots - 1);

	while (names->index[slot] && names->entries[names->index[slot] - 1].pid != pid)
		slot = (slot + 1) & (names->n_slots - 1);
	return slot;
}

static int grow(struct names *names)
{
	size_t n_slots = names->n_slots ? names->n_slots * 2 : 64;
	struct process_name *entries = reallocarray(names->entries, n_slots / 2, sizeof(*entries));
	uint32_t *index;

	if (!entries)
		return -ENOMEM;
	names->entries = entries;
	index = calloc(n_slots, sizeof(*index));
	if (!index)
		return -ENOMEM;
	free(names->index);
	names->index = index;
	names->n_slots = n_slots;
	for (size_t i = 0; i < names->n_entries; i++)
		names->index[slot_of(names, entries[i].pid)] = i + 1;
	return 0;
}

int names_set(struct names *names, uint32_t pid, const char comm[RECORD_COMM_SIZE], uint64_t timestamp, bool ended)
{
	struct process_name *entry;
	size_t slot;

	if (names->n_entries * 2 >= names->n_slots) {
		int r = grow(names);

		if (r)
			return r;
	}
	slot = slot_of(names, pid);
	if (!names->index[slot]) {
		names->index[slot] = ++names->n_entries;
		names->entries[names->n_entries - 1].timestamp = 0;
	}
	entry = &names->entries[names->index[slot] - 1];
	if (timestamp < entry->timestamp)
		return 0;
	entry->pid = pid;
	entry->timestamp = timestamp;
	entry->ended = ended;
	memcpy(entry->comm, comm, RECORD_COMM_SIZE);
	entry->comm[RECORD_COMM_SIZE] = '\0';
	return 0;
}

void names_refresh(struct names *names)
{
	for (size_t i = 0; i < names->n_entries; i++) {
		struct process_name *entry = &names->entries[i];
		CLEANUP_CLOSE int fd = -1;
		char path[64], comm[RECORD_COMM_SIZE + 1] = "";

		if (entry->ended)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/comm", entry->pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, comm, sizeof(comm) - 1) <= 0)
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		memcpy(entry->comm, comm, sizeof(comm));
	}
}

void names_deinit(struct names *names)
{
	free(names->entries);
	free(names->index);
	*names = (struct names){};
}
