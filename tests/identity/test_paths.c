/* Proves that a hash stands for one call path, and that a call path has one hash, or nearly so: by unwinding
 * off the box every stack that was captured. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "identity/artifact.h"
#include "identity/paths.h"
#include "identity/programs.h"

/* Every capture has its definition, so each is unwound, and not only the first of each hash. */
static void one_path_a_hash(const struct subject *subject)
{
	char *folder = subject_record(subject, WORDS("--define-every-stack"));
	struct paths paths;

	paths_read(folder, &paths);
	paths_print(&paths, subject->name, stderr);
	fprintf(stderr, "  %lu by code pointers, %lu by raw bytes\n",
	        (unsigned long)artifact_figure(folder, "stacks_by_code_pointers"),
	        (unsigned long)artifact_figure(folder, "stacks_by_raw_bytes"));
	cr_assert_geq(paths.n_definitions, paths.n_allocations, "a capture has no definition");
	cr_expect_eq(paths.n_conflicts, 0, "%s: %lu stacks under the hash of another path", subject->name,
	        (unsigned long)paths.n_conflicts);
	cr_expect_leq(5 * paths.by_hash.n, 6 * paths.n_paths, "%s: %zu hashes of %zu call paths",
	        subject->name, paths.by_hash.n, paths.n_paths);
	paths_deinit(&paths);
	subject_remove(folder);
}

/* As people record: a definition per new hash. */
static void few_definitions_a_path(const struct subject *subject)
{
	char *folder = subject_record(subject, NULL);
	struct paths paths;

	paths_read(folder, &paths);
	paths_print(&paths, subject->name, stderr);
	fprintf(stderr, "  %lu by code pointers, %lu by raw bytes, %lu truncated\n",
	        (unsigned long)artifact_figure(folder, "stacks_by_code_pointers"),
	        (unsigned long)artifact_figure(folder, "stacks_by_raw_bytes"),
	        (unsigned long)artifact_figure(folder, "truncated_stacks"));
	cr_expect_leq(5 * paths.n_definitions, 6 * paths.n_paths, "%s: %lu definitions of %zu call paths",
	        subject->name, (unsigned long)paths.n_definitions, paths.n_paths);
	paths_deinit(&paths);
	subject_remove(folder);
}

static void count_by_hash(void *context, const struct event *event)
{
	if (event_is_allocation(event->type))
		++*number_map_at(context, event->stack_hash);
}

/* How many hashes of one have another number of allocations in the other. */
static size_t n_other(const struct number_map *one, const struct number_map *other)
{
	const struct number_entry *entry;
	size_t n = 0, at = 0;

	while ((entry = number_map_each(one, &at)))
		n += number_map_get(other, entry->key) != entry->value;
	return n;
}

/* Records the subject; returns how many captures code pointers identify, which are others in each run. */
static uint64_t hashes_of(const struct subject *subject, const char *const *options, struct number_map *ret_hashes)
{
	char *folder = subject_record(subject, options);
	uint64_t n_by_code = artifact_figure(folder, "stacks_by_code_pointers");

	artifact_each(folder, count_by_hash, ret_hashes);
	subject_remove(folder);
	return n_by_code;
}

/* Followed by the trail of the walk before or stepped through by the rules, a stack has the same hash. */
static void same_without_trail(const struct subject *subject)
{
	struct number_map followed = {0}, stepped = {0};
	uint64_t n_followed = hashes_of(subject, NULL, &followed);
	uint64_t n_stepped = hashes_of(subject, WORDS("--loops", "calls"), &stepped);

	fprintf(stderr, "%s: %zu hashes, %lu captures by code pointers\n", subject->name, followed.n,
	        (unsigned long)n_followed);
	cr_expect_gt(followed.n, n_followed);
	cr_expect_leq(n_other(&followed, &stepped), n_followed, "%s: %zu of %zu hashes", subject->name,
	        n_other(&followed, &stepped), followed.n);
	cr_expect_leq(n_other(&stepped, &followed), n_stepped, "%s: %zu of %zu hashes", subject->name,
	        n_other(&stepped, &followed), stepped.n);
	number_map_deinit(&followed);
	number_map_deinit(&stepped);
}

#define EVERY_STACK(name)                                                                                    \
	Test(every_stack, name, .timeout = 240)                                                              \
	{                                                                                                    \
		program_visit(#name, true, one_path_a_hash);                                                 \
	}
#define DEFINITIONS(name)                                                                                    \
	Test(definitions, name, .timeout = 240)                                                              \
	{                                                                                                    \
		program_visit(#name, false, few_definitions_a_path);                                         \
	}
#define TRAIL(name)                                                                                          \
	Test(trail, name, .timeout = 240)                                                                    \
	{                                                                                                    \
		program_visit(#name, false, same_without_trail);                                             \
	}

EVERY_STACK(cxx_loop)
EVERY_STACK(cxx_paths)
EVERY_STACK(threads)
EVERY_STACK(forks)
EVERY_STACK(recursion)
EVERY_STACK(longjmps)
EVERY_STACK(fibers)
EVERY_STACK(altstack)
EVERY_STACK(late_library)
EVERY_STACK(clones)
EVERY_STACK(spawn)
EVERY_STACK(children)
EVERY_STACK(sqlite)
EVERY_STACK(perl)
EVERY_STACK(python)
EVERY_STACK(git)
EVERY_STACK(gcc)

DEFINITIONS(cxx_loop)
DEFINITIONS(children)
DEFINITIONS(sqlite)
DEFINITIONS(perl)
DEFINITIONS(python)
DEFINITIONS(gcc)

TRAIL(cxx_paths)
TRAIL(recursion)
TRAIL(longjmps)
TRAIL(python)
TRAIL(threads)
TRAIL(sqlite)
TRAIL(perl)
TRAIL(git)
TRAIL(children)
