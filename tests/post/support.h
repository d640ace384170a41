/* support.h: what the tests of post/ share. */
#ifndef TESTS_POST_SUPPORT_H
#define TESTS_POST_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "artifact/event.h"

/* A small generator of repeatable random numbers; any seed but 0. */
struct random {
	uint64_t state;
};

uint64_t random_next(struct random *random);
uint64_t random_below(struct random *random, uint64_t n);
/* Of a random width, so that all encodings of integers occur. */
uint64_t random_wide(struct random *random);

/* A random event of any type that may be written. Its pointers refer to static memory that the next call may
 * overwrite. */
struct event random_event(struct random *random);

bool event_equal(const struct event *a, const struct event *b);

/* An unlinked temporary file. Fails the test where there can be none. */
int temporary_file(void);

/* Puts the file's position back to the start. */
void rewind_fd(int fd);

/* Writes one frame with the n bytes. */
void write_frame_of(int fd, const void *bytes, size_t n);

#endif
