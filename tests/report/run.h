/* run.h: other programs, and what they say. */
#ifndef TESTS_REPORT_RUN_H
#define TESTS_REPORT_RUN_H

#include <stdbool.h>

/* Runs a shell command, formatted; returns its standard output, which the caller frees, and its exit status.
 * Aborts where it cannot be started or is killed. */
char *run(int *ret_status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for one whose status is 0; aborts otherwise. */
char *run_well(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether a command is there; where it is not, says that `what` is skipped. */
bool run_has(const char *command, const char *what);

/* The program under test, with the stand-in for the resolver. */
const char *run_memstacks(void);

#endif
