/* programs.h: the programs of the tests here. */
#ifndef TESTS_IDENTITY_PROGRAMS_H
#define TESTS_IDENTITY_PROGRAMS_H

#include <stdbool.h>

#include "identity/subjects.h"

/* Runs `visit` for a program by its name in the table; skips the test where it is not installed or nothing
 * can be captured. `small`: a run of few allocations, for recordings that hold every stack. */
void program_visit(const char *name, bool small, void (*visit)(const struct subject *subject));

#endif
