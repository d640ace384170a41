/* test_diff.c: comparing two profiles. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"
#include "report/diff.h"

struct pair {
	struct string_pool *pool;
	struct profile *old, *new;
	struct maker makers[2];
	struct diff diff;
};

/* OLD: a 100 at the peak, gone 10. NEW: a 150 under another module and line, fresh 40. */
static struct pair make_pair(void)
{
	const struct profile_options options = {.fold = true};
	struct pair pair = {.makers = {maker_new(NULL), maker_new(NULL)}};

	maker_define(&pair.makers[0], 1,
	        "0 0 0\na(int)\t\tx.c\t1\t\t/build/old/p\t\t5\nmain\t\t\t\t\t/build/old/p\t\t9\n");
	maker_define(&pair.makers[0], 2,
	        "0 0 0\ngone\t\t\t\t\t/build/old/p\t\t6\nmain\t\t\t\t\t/build/old/p\t\t9\n");
	maker_malloc(&pair.makers[0], 1, 10, 0x10, 100, 1);
	maker_malloc(&pair.makers[0], 1, 20, 0x20, 10, 2);
	maker_free_block(&pair.makers[0], 1, 30, 0x10);
	maker_finish_whole(&pair.makers[0], NULL);
	maker_define(&pair.makers[1], 7,
	        "0 0 0\na(int)\t\tx.c\t8\t\t/build/new/p\t\t55\nmain\t\t\t\t\t/build/new/p\t\t99\n");
	maker_define(&pair.makers[1], 8,
	        "0 0 0\na(int)\t\tx.c\t9\t\t/build/new/q\t\t56\nmain\t\t\t\t\t/build/new/p\t\t99\n");
	maker_define(&pair.makers[1], 9,
	        "0 0 0\nfresh\t\t\t\t\t/build/new/p\t\t6\nmain\t\t\t\t\t/build/new/p\t\t99\n");
	maker_malloc(&pair.makers[1], 1, 10, 0x10, 130, 7);
	maker_malloc(&pair.makers[1], 1, 20, 0x20, 20, 8);
	maker_malloc(&pair.makers[1], 1, 30, 0x30, 40, 9);
	maker_finish_whole(&pair.makers[1], NULL);
	cr_assert_eq(string_pool_new(&pair.pool), 0);
	cr_assert_eq(profile_load(pair.makers[0].path, &options, pair.pool, &pair.old), 0);
	cr_assert_eq(profile_load(pair.makers[1].path, &options, pair.pool, &pair.new), 0);
	cr_assert_eq(diff_make(pair.old, pair.new, &pair.diff), 0);
	return pair;
}

static void free_pair(struct pair *pair)
{
	diff_deinit(&pair->diff);
	profile_free(pair->old);
	profile_free(pair->new);
	string_pool_free(pair->pool);
	maker_remove(&pair->makers[0]);
	maker_remove(&pair->makers[1]);
}

Test(diff, matches_by_name)
{
	struct pair pair = make_pair();
	uint32_t *paths;
	size_t n;

	cr_assert_eq(pair.diff.n_paths, 3);
	cr_assert_eq(diff_rank(&pair.diff, METRIC_PEAK, &paths, &n), 0);
	cr_assert_eq(n, 3);
	cr_assert_str_eq(diff_frame_name(&pair.diff, &pair.diff.paths[paths[0]], 0), "a(int)");
	cr_assert_eq(pair.diff.paths[paths[0]].old.peak_bytes, 100);
	cr_assert_eq(pair.diff.paths[paths[0]].new.peak_bytes, 150);
	cr_assert_str_eq(diff_frame_name(&pair.diff, &pair.diff.paths[paths[1]], 0), "fresh");
	cr_assert_eq(pair.diff.paths[paths[1]].path_old, STACKS_NONE);
	cr_assert_str_eq(diff_frame_name(&pair.diff, &pair.diff.paths[paths[2]], 0), "gone");
	cr_assert_eq(pair.diff.paths[paths[2]].path_new, STACKS_NONE);
	free(paths);
	/* The counts of `a` and of `gone` and `fresh` each moved by one; nothing was temporary. */
	cr_assert_eq(diff_rank(&pair.diff, METRIC_COUNT, &paths, &n), 0);
	cr_assert_eq(n, 3);
	free(paths);
	cr_assert_eq(diff_rank(&pair.diff, METRIC_TEMPORARY, &paths, &n), 0);
	cr_assert_eq(n, 0);
	free(paths);
	free_pair(&pair);
}

static struct gate_result checked(const struct pair *pair, const char *text)
{
	struct gate_result result;
	const char *why;
	struct gate gate;

	cr_assert_eq(gate_parse(text, &gate, &why), 0);
	diff_check(&pair->diff, &gate, &result);
	gate_deinit(&gate);
	return result;
}

Test(diff, gates)
{
	struct pair pair = make_pair();
	struct gate_result result = checked(&pair, "peak>+50%");

	cr_assert_eq(result.old, 110);
	cr_assert_eq(result.new, 190);
	cr_assert(result.matched && result.failed);
	cr_assert(!checked(&pair, "peak>+73%").failed);
	result = checked(&pair, "peak@a>+50%");
	cr_assert_eq(result.old, 100);
	cr_assert_eq(result.new, 150);
	cr_assert(!result.failed);
	cr_assert(checked(&pair, "peak@main;a>+49%").failed);
	result = checked(&pair, "peak@gone>0");
	cr_assert(result.matched && !result.failed);
	cr_assert_eq(result.old, 10);
	cr_assert(!checked(&pair, "peak@misspelled>0").matched);
	cr_assert(checked(&pair, "leak>+100").failed); /* from 10 to 190 */
	free_pair(&pair);
}
