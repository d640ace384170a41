/* Proves that nothing is lost when far more comes than is taken, and that nobody waits for a recorder that
 * died. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "identity/artifact.h"
#include "support/launch.h"
#include "support/machine.h"
#include "support/memory.h"
#include "identity/subjects.h"
#include "util/cleanup.h"
#include "util/map64.h"

#define SIZE  77777 /* of the blocks of burst.c */
#define BEGUN 1000  /* its sign of having begun */

struct storm {
	const char *kind; /* of burst.c */
	unsigned n, n_pairs, depth;
	const char *poll_ms;
	const char *identity;
};

/* What a recording of the storm has. */
struct seen {
	struct number_map live; /* block: 1 while it is live */
	struct number_map by_tid;
	uint64_t n_mallocs;
	uint64_t n_frees;
	uint64_t n_without_stack;
	uint64_t n_forks;
	uint64_t n_exits;
};

static void see(void *context, const struct heap_row *row)
{
	struct seen *seen = context;
	uint64_t block = row->addr ^ (uint64_t)row->pid << 47, *live;

	seen->n_forks += row->kind == EVENT_FORK;
	seen->n_exits += row->kind == EVENT_EXIT;
	if (row->kind == EVENT_MALLOC && row->size == SIZE) {
		*number_map_at(&seen->live, block) = 1;
		++*number_map_at(&seen->by_tid, row->tid);
		seen->n_mallocs++;
		seen->n_without_stack += row->stack_hash == 0;
	}
	if (row->kind == EVENT_FREE && number_map_get(&seen->live, block)) {
		live = number_map_at(&seen->live, block);
		seen->n_frees += *live;
		*live = 0;
	}
}

static void start(
        const struct storm *storm, const char *folder, const char *signs, struct running *ret_running)
{
	CLEANUP_FREE char *burst = test_text("%s/tests/identity/burst", getenv("MEMSTACKS_BUILD"));
	CLEANUP_FREE char *n = test_text("%u", storm->n);
	CLEANUP_FREE char *n_pairs = test_text("%u", storm->n_pairs);
	CLEANUP_FREE char *depth = test_text("%u", storm->depth);
	const char *const *argv = WORDS(getenv("MEMSTACKS_RUNNER"), "--instrument", "memory",
	        "--no-integrations", "--experimental-stacks", "--quiet", "--profile-folder", folder,
	        "--poll-interval", storm->poll_ms, "--stack-identity", storm->identity, "--", burst,
	        storm->kind, n, n_pairs, depth, signs);

	cr_assert_eq(launch_start(&(struct launch){.argv = argv, .timeout = 240}, ret_running), 0);
}

static bool has_sign(const char *signs, unsigned number)
{
	CLEANUP_FREE char *path = test_text("%s/%u", signs, number);

	return access(path, F_OK) == 0;
}

/* Which are missing, of all that should have come to their end. */
static unsigned n_unfinished(const struct storm *storm, const char *signs)
{
	unsigned n = 0;

	for (unsigned i = 0; i < storm->n; i++)
		n += !has_sign(signs, i);
	return n;
}

static void need_rights(void)
{
	const char *reason = machine_why_no_capture();

	if (reason)
		cr_skip_test("no capture here: %s", reason);
}

static void must_be_exact(const struct storm *storm, const char *folder)
{
	uint64_t n_expected = (uint64_t)storm->n * storm->n_pairs, n_threads = 0;
	const struct number_entry *entry;
	struct seen seen = {0};
	size_t at = 0;

	artifact_each_row(folder, see, &seen);
	cr_expect_eq(seen.n_mallocs, n_expected, "%lu allocations of %lu", (unsigned long)seen.n_mallocs,
	        (unsigned long)n_expected);
	cr_expect_eq(seen.n_frees, n_expected, "%lu frees of %lu", (unsigned long)seen.n_frees,
	        (unsigned long)n_expected);
	cr_expect_eq(seen.n_without_stack, 0);
	cr_expect_eq(seen.n_exits, seen.n_forks + 1);
	while ((entry = number_map_each(&seen.by_tid, &at))) {
		n_threads++;
		cr_expect_eq(entry->value, storm->n_pairs, "thread %lu: %lu pairs", (unsigned long)entry->key,
		        (unsigned long)entry->value);
	}
	cr_expect_eq(n_threads, storm->n);
	number_map_deinit(&seen.live);
	number_map_deinit(&seen.by_tid);
}

/* `fills`: the ring must have been so full that producers waited, else the case proves nothing. */
static void storm_case(const struct storm *storm, bool fills)
{
	char *folder = subject_folder("profile"), *signs = subject_folder("signs");
	struct launch_result result;
	struct running running;

	need_rights();
	cr_assert_eq(mkdir(signs, 0700), 0);
	start(storm, folder, signs, &running);
	cr_assert_eq(launch_finish(&running, &result), 0);
	cr_assert(!result.timed_out, "it does not end by itself");
	cr_assert_eq(result.status, 0, "status %d\n%s", result.status, result.err);
	cr_expect_eq(n_unfinished(storm, signs), 0);
	cr_expect_eq(machine_n_stopped(), 0);
	cr_expect_eq(artifact_figure(folder, "lost"), 0);
	fprintf(stderr, "%s x %u x %u, %s: %lu waits of %.1f s in all, %lu definitions, %.1f MB\n",
	        storm->kind, storm->n, storm->n_pairs, storm->identity,
	        (unsigned long)artifact_figure(folder, "producer_waits"),
	        (double)artifact_figure(folder, "producer_waited") / 1e9,
	        (unsigned long)artifact_figure(folder, "distinct_stacks"),
	        (double)artifact_figure(folder, "artifact_bytes") / 1e6);
	if (fills)
		cr_expect_gt(artifact_figure(folder, "producer_waits"), 0, "the ring was never full");
	must_be_exact(storm, folder);
	launch_result_deinit(&result);
	subject_remove(folder);
	subject_remove(signs);
}

Test(storm, threads, .timeout = 300)
{
	storm_case(&(struct storm){"threads", 8, 400000, 4, "2000", "path"}, false);
}

Test(storm, processes, .timeout = 300)
{
	storm_case(&(struct storm){"processes", 16, 100000, 4, "2000", "path"}, false);
}

/* Nearly every pair brings a definition of the whole stack with it. */
Test(storm, full_ring, .timeout = 300)
{
	storm_case(&(struct storm){"threads", 4, 2000, 40, "4000", "raw"}, true);
}

static void nothing(void *context, const struct event *event)
{
	(void)event;
	++*(size_t *)context;
}

static void kill_case(const struct storm *storm)
{
	char *folder = subject_folder("profile"), *signs = subject_folder("signs");
	struct launch_result result;
	struct running running;
	size_t n_events = 0;

	need_rights();
	cr_assert_eq(mkdir(signs, 0700), 0);
	start(storm, folder, signs, &running);
	for (int i = 0; i < 3000 && !has_sign(signs, BEGUN); i++)
		usleep(10000);
	cr_assert(has_sign(signs, BEGUN), "the command did not start");
	usleep(2500000); /* one look at the ring has been, and it fills again */
	cr_assert_eq(n_unfinished(storm, signs), storm->n, "the storm is too short for this test");
	kill(running.pid, SIGKILL);
	cr_assert_eq(launch_finish(&running, &result), 0);
	cr_expect_eq(machine_wait_for_none(60), 0, "processes are left");
	cr_expect_eq(
	        n_unfinished(storm, signs), 0, "%u did not come to their end", n_unfinished(storm, signs));
	artifact_each_to_cut(folder, nothing, &n_events);
	fprintf(stderr, "%s: %zu events readable after the kill\n", storm->kind, n_events);
	cr_expect_gt(n_events, 0);
	launch_result_deinit(&result);
	subject_remove(folder);
	subject_remove(signs);
}

Test(storm, runner_killed_among_threads, .timeout = 300)
{
	kill_case(&(struct storm){"threads", 8, 400000, 4, "2000", "path"});
}

Test(storm, runner_killed_among_processes, .timeout = 300)
{
	kill_case(&(struct storm){"processes", 16, 200000, 4, "2000", "path"});
}

/* Producers wait inside the kernel for the one who is killed. */
Test(storm, runner_killed_with_a_full_ring, .timeout = 300)
{
	kill_case(&(struct storm){"threads", 4, 16000, 40, "2000", "raw"});
}
