/* test_tree.c: process trees: all of them, with the right names, also inside a PID namespace. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "capture/capture.h"
#include "support/machine.h"
#include "util/cleanup.h"

/* Allocations of the processes of a name, without what the shell's child did before it became the program. */
static size_t allocations_of(const struct profile *profile, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->n_calls; i++) {
		const struct heap_event *call = &profile->calls[i];
		const struct profile_other *exec = profile_find_other(profile, EVENT_EXEC, call->pid);
		const char *process = profile_process_name(profile, call->pid);

		if (!process || strcmp(process, name) != 0 || (exec && call->timestamp < exec->timestamp))
			continue;
		n += event_is_allocation(call->type);
	}
	return n;
}

Test(tree, pipeline_and_background)
{
	CLEANUP_FREE char *pairs = capture_fixture_path("pairs");
	CLEANUP_FREE char *forks = capture_fixture_path("forks");
	CLEANUP_FREE char *recursion = capture_fixture_path("recursion");
	struct capture_spec spec = {.name = "tree", .counter = true};
	struct capture capture;

	capture_need_rights();
	spec.argv =
	        WORDS("sh", "-c", "\"$0\" 111 | \"$1\" 1 2 10 & \"$2\" 5 222; wait", pairs, forks, recursion);
	capture_run(&spec, &capture);
	capture_must_be_whole(&capture, 0);
	capture_must_equal(&capture.counter, &capture);
	capture_must_pass_check(&capture, true);
	cr_assert_eq(profile_count_named(&capture.profile, "sh"), 1);
	cr_assert_eq(profile_count_named(&capture.profile, "pairs"), 1);
	cr_assert_eq(profile_count_named(&capture.profile, "recursion"), 1);
	cr_assert_eq(profile_count_named(&capture.profile, "forks"), 3, "the program and its two children");
	cr_assert_eq(allocations_of(&capture.profile, "pairs"), 111);
	cr_assert_eq(allocations_of(&capture.profile, "recursion"), 222);
	cr_assert_eq(allocations_of(&capture.profile, "forks"), 30);
	/* Each process of the tree has come and gone. */
	cr_assert_eq(profile_count_other(&capture.profile, EVENT_EXIT),
	        profile_count_other(&capture.profile, EVENT_FORK) + 1);
	capture_deinit(&capture);
}

/* What is known of a thread ends with it, also where it ends under another number than it had. */
Test(tree, exec_that_fails_half_way)
{
	CLEANUP_FREE char *path = capture_fixture_path("failed_exec");
	struct capture_spec spec = {.name = "failed-exec", .fixture_log = true};
	struct capture capture;

	capture_need_rights();
	spec.argv = WORDS(path, "20");
	capture_run(&spec, &capture);
	capture_must_be_whole(&capture, 0);
	capture_must_equal_fixture(&spec, &capture);
	capture_must_pass_check(&capture, true);
	cr_assert_eq(profile_count_other(&capture.profile, EVENT_FORK), 40);
	cr_assert_eq(profile_count_other(&capture.profile, EVENT_EXIT), 41);
	capture_deinit(&capture);
}

Test(tree, in_a_pid_namespace)
{
	CLEANUP_FREE char *forks = capture_fixture_path("forks");
	struct capture_spec spec = {.name = "namespace", .fixture_log = true};
	struct capture inside, outside;
	struct launch_result probe;

	capture_need_rights();
	cr_assert_eq(
	        launch_run(&(struct launch){.argv = WORDS("unshare", "-pf", "--mount-proc", "true")}, &probe),
	        0);
	if (probe.status != 0)
		cr_skip_test("no PID namespace can be made here: %s", probe.err);
	launch_result_deinit(&probe);
	spec.argv = WORDS(forks, "2", "3", "40");
	spec.wrapper = WORDS("unshare", "-pf", "--mount-proc");
	capture_run(&spec, &inside);
	capture_must_be_whole(&inside, 0);
	capture_must_equal(
	        &inside.fixture, &inside); /* pids as seen in the namespace, where the runner is too */
	capture_must_have_forks(&inside);
	capture_must_pass_check(&inside, true);
	spec.name = "namespace-outside";
	spec.wrapper = NULL;
	capture_run(&spec, &outside);
	capture_must_be_whole(&outside, 0);
	cr_assert_eq(profile_n_allocations(&inside.profile), profile_n_allocations(&outside.profile));
	cr_assert_eq(inside.profile.n_calls, outside.profile.n_calls);
	cr_assert_eq(profile_count_named(&inside.profile, "forks"), 13);
	capture_deinit(&inside);
	capture_deinit(&outside);
}

/* Job control, terminals and orphans see nothing: no process of the run is ever stopped. */
Test(tree, nothing_is_ever_stopped)
{
	CLEANUP_FREE char *storm = capture_fixture_path("storm");
	CLEANUP_FREE char *folder = NULL;
	CLEANUP_FREE char *signs = NULL;
	struct running running;
	struct launch_result result;
	size_t n_looks = 0, n_stopped = 0;

	capture_need_rights();
	folder = capture_new_path("never-stopped");
	signs = capture_new_folder("never-stopped-signs");
	cr_assert_eq(
	        launch_start(&(struct launch){.argv = WORDS(capture_env("MEMSTACKS_RUNNER"), "--instrument",
	                                              "memory", "--experimental-stacks", "--profile-folder",
	                                              folder, "--", storm, "1500", signs)},
	                &running),
	        0);
	while (!launch_has_ended(&running)) {
		n_stopped += machine_n_stopped();
		n_looks++;
		usleep(500);
	}
	cr_assert_eq(launch_finish(&running, &result), 0);
	cr_assert_eq(result.status, 0, "%s", result.err);
	cr_assert_gt(n_looks, 20);
	cr_assert_eq(n_stopped, 0);
	cr_assert_eq(machine_wait_for_none(10), 0);
	launch_result_deinit(&result);
}
