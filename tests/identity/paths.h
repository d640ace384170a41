/* paths.h: the call paths of a recording, unwound off the box from its definitions: what identities are
 * judged by.
 *
 * A call path is the sequence of modules and addresses in them, inlined calls collapsed to the frames that
 * are really there. Functions fail the running test where a folder cannot be read.
 */
#ifndef TESTS_IDENTITY_PATHS_H
#define TESTS_IDENTITY_PATHS_H

#include <stdio.h>

#include "resolve/resolver.h"
#include "util/number_map.h"

struct path_step {
	const char *module; /* as the process saw it; NULL: code outside any file */
	uint64_t place;     /* SVMA, or the address where module is NULL */
};

struct call_path {
	struct path_step *steps; /* innermost first */
	size_t n_steps;
	enum stack_end end;
	uint64_t n_allocations; /* of all hashes that mean this path */
};

struct paths {
	struct resolver *resolver; /* owns the texts of modules */
	struct call_path *paths;   /* each once */
	size_t n_paths;
	struct number_map by_digest; /* digest of a path, probed upwards: 1 + index */
	struct number_map by_hash;   /* identity: 1 + index of its path */
	uint64_t n_definitions;      /* unwound */
	uint64_t n_conflicts;        /* whose hash has stood for another path before; printed */
	uint64_t n_allocations;
	uint64_t n_by_end[STACK_END_N]; /* definitions */
};

/* Unwinds every definition of the profile. */
void paths_read(const char *folder, struct paths *ret_paths);

/* How many paths end before the first frame. */
size_t paths_n_broken(const struct paths *paths);

/* Prints what was found, in one line. */
void paths_print(const struct paths *paths, const char *name, FILE *stream);

/* How many call paths of the two recordings differ, or have other numbers of allocations; the first few are
 * printed. */
size_t paths_n_different(const struct paths *a, const struct paths *b);

void paths_deinit(struct paths *paths);

#endif
