/* client.h: an integration as its registry has it, recorded for real, and what is known of its benchmarks. */
#ifndef TESTS_INTEGRATION_CLIENT_H
#define TESTS_INTEGRATION_CLIENT_H

#include <stdint.h>

#include "capture/capture.h"

/* A benchmark that makes `n` allocations of `size` bytes each, and no others of that size. */
struct client_benchmark {
	const char *uri;
	uint64_t size;
	uint64_t n;
	const char *function; /* a part of the name of the function that is on all their stacks */
	uint64_t n_all;       /* all allocations of the benchmark, of any size; 0: not known */
	bool whole;           /* all of their stacks reach the first frame */
};

/* Installs it, once for all tests; skips the test with the reason where that is impossible. Returns the
 * folder with its benchmarks, which the caller frees. */
char *client_install(const char *name);

/* Runs its command in that folder under the runner; must end with 0 and be whole. `spec` says command and
 * options. */
void client_run(const struct capture_spec *spec, struct capture *ret_capture);

/* The profile must name the integration, and must have these benchmarks and no others. */
void client_must_have(const struct capture *capture, const char *integration,
        const struct client_benchmark *benchmarks, size_t n_benchmarks);

/* The allocations of one size in the whole profile (uri NULL) or one benchmark must be as the fields say. */
void client_must_allocate(const struct capture *capture, const struct client_benchmark *benchmark);

/* The map of names of the code that a process made at run time must be in the profile. */
void client_must_have_map(const struct capture *capture);

/* A range of a file with this in its path must be among those that a report may fold away. */
void client_must_ignore(const struct capture *capture, const char *part);

#endif
