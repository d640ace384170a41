/* artifact.h: going through the artifact of a profile folder without keeping it in memory: recordings of
 * millions of events, with the bytes of their definitions. */
#ifndef TESTS_IDENTITY_ARTIFACT_H
#define TESTS_IDENTITY_ARTIFACT_H

#include <stddef.h>
#include <stdint.h>

#include "artifact/event.h"
#include "heap/order.h"

/* The path of the artifact in a profile folder, or NULL; the caller frees it. */
char *artifact_path(const char *folder);

/* Calls `visit` for each event in stream order; the test fails unless the artifact is whole. */
void artifact_each(
        const char *folder, void (*visit)(void *context, const struct event *event), void *context);

/* The same in replay order. */
void artifact_each_row(
        const char *folder, void (*visit)(void *context, const struct heap_row *row), void *context);

/* In stream order too, but it may be cut. Returns how many events there were; 0 also where there is no artifact. */
size_t artifact_each_to_cut(
        const char *folder, void (*visit)(void *context, const struct event *event), void *context);

/* A figure of summary.json; the test fails where there is none of that name. */
uint64_t artifact_figure(const char *folder, const char *name);

#endif
