/* maker.h: profile folders whose content a test knows. Failures abort: a test cannot go on without them. */
#ifndef TESTS_REPORT_MAKER_H
#define TESTS_REPORT_MAKER_H

#include <stdint.h>

#include "artifact/event.h"
#include "artifact/writer.h"

struct maker {
	char path[256];
	int artifact_fd;
	struct artifact_writer *writer;
};

/* Makes the folder `path`; NULL: a fresh one below /tmp. */
struct maker maker_new(const char *path);

/* `text` is what stand_in.c reads. */
void maker_define(struct maker *maker, uint64_t hash, const char *text);

/* A whole stack of functions in /bin/program, innermost first, separated by `;`. */
void maker_define_functions(struct maker *maker, uint64_t hash, const char *functions);

void maker_add(struct maker *maker, const struct event *event);
void maker_malloc(
        struct maker *maker, uint32_t pid, uint64_t time, uint64_t addr, uint64_t size, uint64_t hash);
void maker_free_block(struct maker *maker, uint32_t pid, uint64_t time, uint64_t addr);

/* Writes a file below the folder. */
void maker_file(struct maker *maker, const char *name, const void *data, size_t n);

/* Closes the artifact, and writes memory_metadata.json unless `metadata` is NULL. */
void maker_finish(struct maker *maker, const char *metadata);

/* Metadata with everything that is required, a name for processes 1 to 9, and `more` before the closing
 * brace. */
void maker_finish_whole(struct maker *maker, const char *more);

/* Removes the folder. */
void maker_remove(struct maker *maker);

#endif
