/* witness.h: resolved stacks beside gdb's view of the same stacks. */
#ifndef TESTS_UNWIND_WITNESS_H
#define TESTS_UNWIND_WITNESS_H

#include <stdbool.h>

#include "resolve/resolver.h"
#include "samples.h"

/* Resolves all definitions of the profile in the folder and calls `check` with each, its sample and its
 * number. Fails the running test where the folder cannot be read, or does not have all the samples. */
void witness_resolve_all(int folder_fd, const struct samples *samples,
        void (*check)(
                void *context, size_t n, const struct resolved_stack *stack, const struct sample *sample),
        void *context);

/* Whether the frames, without inlined ones, are gdb's, as far as both go; and up to their ends if `whole`. */
bool witness_agrees(const struct resolved_stack *stack, const struct sample *sample, bool whole);

/* Both side by side, for a message; the caller frees it. */
char *witness_describe(const struct resolved_stack *stack, const struct sample *sample);

#endif
