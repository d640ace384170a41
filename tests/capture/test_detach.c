/* test_detach.c: when the runner has ended nothing of it is attached any more, however much there was and
 * whoever is still there. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "capture/capture.h"
#include "support/machine.h"
#include "support/memory.h"
#include "util/cleanup.h"

/* More files than links are closed at a time. */
#define N_LIBRARIES "50"

static void must_be_detached(const struct machine_bpf *before)
{
	cr_assert_eq(machine_links_left(before), 0, "links are left when the runner has ended");
	cr_assert_eq(machine_bpf_left(before, 20), 0, "programs are left");
}

Test(detach, many_files)
{
	CLEANUP_FREE char *library = capture_fixture_path("libbump.so");
	CLEANUP_FREE char *program = capture_fixture_path("late_library");
	CLEANUP_FREE char *folder = capture_new_folder("many-libraries");
	struct capture_spec spec = {.name = "many-files", .folder = folder};
	struct machine_bpf before;
	struct capture capture;
	size_t n_mallocs = 0;

	capture_need_rights();
	spec.argv = WORDS("sh", "-ec",
	        "i=0; while [ $i -lt " N_LIBRARIES
	        " ]; do cp \"$0\" $i.so; \"$1\" ./$i.so 1; i=$((i + 1)); done",
	        library, program);
	machine_bpf_take(&before);
	capture_run(&spec, &capture);
	must_be_detached(&before);
	capture_must_be_whole(&capture, 0);
	/* Each of the libraries was probed: it is opened three times, for one call. */
	for (size_t i = 0; i < capture.profile.n_calls; i++)
		n_mallocs +=
		        capture.profile.calls[i].type == EVENT_MALLOC && capture.profile.calls[i].size == 500;
	cr_assert_eq(n_mallocs, 3 * strtoul(N_LIBRARIES, NULL, 10));
	machine_bpf_deinit(&before);
	capture_deinit(&capture);
}

/* What outlives the command is followed until it is let go: the artifact is whole up to there. */
Test(detach, processes_that_go_on)
{
	CLEANUP_FREE char *storm = capture_fixture_path("storm");
	CLEANUP_FREE char *signs = capture_new_folder("goes-on-signs");
	CLEANUP_FREE char *done = test_text("%s/done", signs);
	struct capture_spec spec = {.name = "goes-on"};
	struct machine_bpf before;
	struct capture capture;

	capture_need_rights();
	spec.argv = WORDS("sh", "-ec",
	        "\"$0\" 2500 \"$1\" >/dev/null 2>&1 & until [ -e \"$1/started\" ]; do sleep 0.02; done; "
	        "sleep 0.3",
	        storm, signs);
	machine_bpf_take(&before);
	capture_run(&spec, &capture);
	cr_assert_neq(access(done, F_OK), 0, "the process ended with the command: this proves nothing");
	must_be_detached(&before);
	capture_must_be_whole(&capture, 0);
	cr_assert_eq(machine_wait_for_none(20), 0);
	cr_assert_eq(access(done, F_OK), 0, "the process did not go on to its end");
	machine_bpf_deinit(&before);
	capture_deinit(&capture);
}
