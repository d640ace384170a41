/* calls.h: a call log as a test makes and reads it. */
#ifndef TESTS_SUPPORT_CALLS_H
#define TESTS_SUPPORT_CALLS_H

#include "support/call_log.h"
#include "support/heap_event.h"

struct calls {
	char *path;
	struct call_log *log; /* mapped */
	size_t n_mapped;
};

/* A path as long as that of a log, when the folder for temporary files has its usual name. */
#define CALLS_PATH_LIKE "/tmp/memstacks-calls.XXXXXX"

/* Makes an empty log file for up to `capacity` records in the folder for temporary files, and maps it.
 * The file is sparse: room costs nothing. 0 or a negative errno. */
int calls_init(struct calls *calls, size_t capacity);

/* Removes the file as well. */
void calls_deinit(struct calls *calls);

/* Records in the log; calls_overflowed says whether there were more than it had room for. */
size_t calls_n_records(const struct calls *calls);
int calls_overflowed(const struct calls *calls);

/* How many records of a kind there are. */
size_t calls_count(const struct calls *calls, enum call_kind kind);

/* What an artifact must contain for the calls logged: failed calls are no events, realloc to size 0 that
 * returns NULL is a free. The list is the caller's to free. */
struct heap_event *calls_events(const struct calls *calls, size_t *ret_n_events);

#endif
