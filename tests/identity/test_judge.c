/* Proves that what judges identities would notice wrong ones: coarser ones, which stand for several paths,
 * and finer ones, which say of one path that it is many. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "artifact/writer.h"
#include "identity/artifact.h"
#include "identity/paths.h"
#include "identity/programs.h"
#include "support/memory.h"
#include "util/cleanup.h"

static void write_coarser(void *context, const struct event *event)
{
	struct event changed = *event;

	if (changed.stack_hash)
		changed.stack_hash = changed.stack_hash % 2 + 1;
	if (changed.stack.hash)
		changed.stack.hash = changed.stack.hash % 2 + 1;
	cr_assert_eq(artifact_writer_add(context, &changed), 0);
}

/* Puts an artifact with two hashes only in the place of the one in the folder. */
static void make_coarser(const char *folder)
{
	CLEANUP_FREE char *old = artifact_path(folder);
	CLEANUP_FREE char *new = test_text("%s.new", old);
	CLEANUP_CLOSE int fd = open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct artifact_writer *writer;

	cr_assert_geq(fd, 0);
	cr_assert_eq(artifact_writer_new(fd, -1, &writer), 0);
	artifact_each(folder, write_coarser, writer);
	cr_assert_eq(artifact_writer_finish(writer), 0);
	artifact_writer_free(writer);
	cr_assert_eq(rename(new, old), 0);
}

static void judge_coarser(const struct subject *subject)
{
	char *folder = subject_record(subject, WORDS("--define-every-stack"));
	struct paths paths;

	make_coarser(folder);
	paths_read(folder, &paths);
	cr_assert_gt(paths.n_paths, 2);
	cr_assert_leq(paths.by_hash.n, 2);
	cr_assert_gt(paths.n_conflicts, paths.n_paths);
	paths_deinit(&paths);
	subject_remove(folder);
}

Test(judge, two_paths_under_one_hash, .timeout = 180)
{
	program_visit("cxx_paths", true, judge_coarser);
}

static void judge_finer(const struct subject *subject)
{
	char *folder = subject_record(subject, WORDS("--stack-identity", "raw"));
	struct paths paths;

	paths_read(folder, &paths);
	cr_assert_gt(paths.n_definitions, 100 * paths.n_paths);
	cr_assert_eq(paths.n_conflicts, 0);
	paths_deinit(&paths);
	subject_remove(folder);
}

Test(judge, one_path_under_many_hashes, .timeout = 180)
{
	program_visit("cxx_paths", true, judge_finer);
}

static void judge_difference(const struct subject *subject)
{
	struct subject other = {.name = "other", .argv = WORDS("@cxx_paths", "3001")};
	char *folder = subject_record(subject, NULL), *second = subject_record(subject, NULL);
	char *different = subject_record(&other, NULL);
	struct paths a, b, c;

	paths_read(folder, &a);
	paths_read(second, &b);
	paths_read(different, &c);
	cr_assert_eq(paths_n_different(&a, &b), 0);
	cr_assert_gt(paths_n_different(&a, &c), 0);
	paths_deinit(&a);
	paths_deinit(&b);
	paths_deinit(&c);
	subject_remove(folder);
	subject_remove(second);
	subject_remove(different);
}

Test(judge, recordings_that_differ, .timeout = 180)
{
	program_visit("cxx_paths", true, judge_difference);
}
