/* test_death.c: the runner dies or is interrupted in the middle: nothing stays held, attached or lying about,
 * and what was captured can be read. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "capture/capture.h"
#include "support/machine.h"
#include "support/memory.h"
#include "util/cleanup.h"

#define N_KILLS 10
#define RUN_MS  1200

/* About as long as the runner takes to put the probes in place. */
#define EARLY_MS 400

/* One run of the storm with folders of its own. */
struct death {
	char *folder;  /* the profile */
	char *scratch; /* TMPDIR of the runner */
	char *signs;   /* where the storm makes its files */
	struct machine_bpf before;
	int n_breakpoints; /* in the C library of this process, which is everybody's, before */
	struct running running;
};

static void start(const char *name, unsigned run, struct death *ret_death)
{
	CLEANUP_FREE char *storm = capture_fixture_path("storm");
	CLEANUP_FREE char *profile = test_text("%s-%u", name, run);
	CLEANUP_FREE char *scratch = test_text("%s-%u-temporary", name, run);
	CLEANUP_FREE char *signs = test_text("%s-%u-signs", name, run);
	CLEANUP_FREE char *duration = test_text("%u", RUN_MS);
	struct death death = {.folder = capture_new_path(profile),
	        .scratch = capture_new_folder(scratch),
	        .signs = capture_new_folder(signs)};
	CLEANUP_FREE char *temporary = test_text("TMPDIR=%s", death.scratch);

	machine_bpf_take(&death.before);
	death.n_breakpoints = machine_n_breakpoints(getpid(), "/libc.so");
	cr_assert_geq(death.n_breakpoints, 0);
	cr_assert_eq(
	        launch_start(&(struct launch){.argv = WORDS(capture_env("MEMSTACKS_RUNNER"), "--instrument",
	                                              "memory", "--experimental-stacks", "--profile-folder",
	                                              death.folder, "--", storm, duration, death.signs),
	                             .env = WORDS(temporary)},
	                &death.running),
	        0);
	*ret_death = death;
}

static bool has_sign(const struct death *death, const char *name)
{
	CLEANUP_FREE char *path = test_text("%s/%s", death->signs, name);

	return access(path, F_OK) == 0;
}

static void wait_for_command(const struct death *death)
{
	for (int i = 0; i < 3000 && !has_sign(death, "started"); i++)
		usleep(10000);
	cr_assert(has_sign(death, "started"), "the command did not start");
}

static size_t n_entries(const char *folder)
{
	CLEANUP_CLOSEDIR DIR *listing = opendir(folder);
	size_t n = 0;

	for (struct dirent *entry; listing && (entry = readdir(listing));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		fprintf(stderr, "  %s holds %s\n", folder, entry->d_name);
		n++;
	}
	return n;
}

/* Whether the C library is as it was before; the kernel takes breakpoints out a little later than links. */
static bool is_clean(const struct death *death)
{
	for (int i = 0; i < 200; i++) {
		if (machine_n_breakpoints(getpid(), "/libc.so") <= death->n_breakpoints)
			return true;
		usleep(50000);
	}
	return false;
}

static void must_leave_nothing(struct death *death, const char *when)
{
	/* The command may go on to its end, or be ended; it must not hang. */
	cr_assert_eq(machine_wait_for_none(RUN_MS / 1000 + 20), 0, "%s: processes are left", when);
	cr_assert_eq(machine_bpf_left(&death->before, 20), 0, "%s: eBPF programs or links are left", when);
	cr_assert(
	        is_clean(death) || machine_others_probe(), "%s: a breakpoint is left in the C library", when);
	cr_assert_eq(n_entries(death->scratch), 0, "%s: temporary files are left", when);
	cr_assert_neq(access("/tmp/runner.ctl.fifo", F_OK), 0, "%s: a pipe is left", when);
	cr_assert_neq(access("/tmp/runner.ack.fifo", F_OK), 0, "%s: a pipe is left", when);
}

static void end(struct death *death)
{
	machine_bpf_deinit(&death->before);
	free(death->folder);
	free(death->scratch);
	free(death->signs);
}

/* The artifact, if the run came so far, is whole or cut: never corrupt. Returns its events. */
static size_t must_be_readable(const char *folder, const char *when)
{
	struct profile profile;
	size_t n_events;

	if (profile_load(folder, &profile) != 0)
		return 0;
	cr_assert(profile.end == ARTIFACT_END || profile.end == ARTIFACT_CUT,
	        "%s: the artifact is unreadable (%d)", when, profile.end);
	cr_assert_eq(profile.n_malformed, 0, "%s", when);
	n_events = profile.n_calls + profile.n_definitions + profile.n_others;
	profile_deinit(&profile);
	return n_events;
}

Test(death, runner_killed_at_random_moments)
{
	unsigned seed = (unsigned)time(NULL);
	size_t n_events = 0, n_completed = 0, n_probed = 0;

	capture_need_rights();
	fprintf(stderr, "seed %u\n", seed);
	for (unsigned i = 0; i < N_KILLS; i++) {
		/* One in three while the probes are put in place, the others anywhere in the run or just
		 * after it. */
		bool early = i % 3 == 0;
		unsigned delay = rand_r(&seed) % (early ? EARLY_MS : RUN_MS + 200);
		CLEANUP_FREE char *when = test_text(
		        "killed %u ms after the start of the %s", delay, early ? "runner" : "command");
		struct launch_result result;
		struct death death;

		start("killed", i, &death);
		if (!early)
			wait_for_command(&death);
		usleep(delay * 1000);
		n_probed += machine_n_breakpoints(getpid(), "/libc.so") > death.n_breakpoints;
		kill(death.running.pid, SIGKILL);
		usleep(300000);
		cr_assert_eq(machine_n_stopped(), 0, "%s: a process is stopped", when);
		cr_assert_eq(launch_finish(&death.running, &result), 0);
		launch_result_deinit(&result);
		must_leave_nothing(&death, when);
		n_completed += has_sign(&death, "done");
		n_events += must_be_readable(death.folder, when);
		end(&death);
	}
	fprintf(stderr, "%zu events readable in %u runs, %zu commands ran to their end\n", n_events, N_KILLS,
	        n_completed);
	cr_assert_gt(n_events, 1000, "nothing was captured before the kills");
	cr_assert_gt(n_probed, 0, "no breakpoint was ever seen: that none is left means nothing");
}

/* `delay` in milliseconds after the start of the command, or of the runner when `early`. */
static void interrupt_case(const char *name, int signal_number, unsigned delay, bool early, bool whole_group)
{
	struct launch_result result;
	struct death death;
	size_t n_events;

	capture_need_rights();
	start(name, delay, &death);
	if (!early)
		wait_for_command(&death);
	usleep(delay * 1000);
	kill(whole_group ? -death.running.pid : death.running.pid, signal_number);
	cr_assert_eq(launch_finish(&death.running, &result), 0);
	cr_assert_eq(result.status, 128 + signal_number, "exit status %d\n%s", result.status, result.err);
	must_leave_nothing(&death, name);
	cr_assert(!has_sign(&death, "done"), "the command was not interrupted\n%s", result.err);
	n_events = must_be_readable(death.folder, name);
	if (!early)
		cr_assert_gt(n_events, 1000, "%zu events\n%s", n_events, result.err);
	launch_result_deinit(&result);
	end(&death);
}

/* As a terminal does it: the whole group gets the signal. */
Test(death, control_c)
{
	interrupt_case("control-c", SIGINT, RUN_MS / 2, false, true);
}

Test(death, control_c_at_the_start)
{
	for (unsigned delay = 10; delay < 2 * EARLY_MS; delay += EARLY_MS / 4)
		interrupt_case("control-c-early", SIGINT, delay, true, true);
}

Test(death, termination_is_forwarded)
{
	interrupt_case("terminated", SIGTERM, RUN_MS / 2, false, false);
}

Test(death, termination_at_the_start)
{
	for (unsigned delay = 10; delay < 2 * EARLY_MS; delay += EARLY_MS / 4)
		interrupt_case("terminated-early", SIGTERM, delay, true, false);
}

Test(death, hangup_is_forwarded)
{
	interrupt_case("hangup", SIGHUP, RUN_MS / 2, false, false);
}

Test(death, command_killed)
{
	struct capture_spec spec = {
	        .name = "command-killed", .argv = WORDS("sh", "-c", "x=$(echo a); kill -KILL $$")};
	struct capture capture;

	capture_need_rights();
	capture_run(&spec, &capture);
	capture_must_be_whole(&capture, 128 + SIGKILL);
	capture_deinit(&capture);
}

Test(death, command_fails)
{
	struct capture_spec spec = {
	        .name = "command-fails", .argv = WORDS("sh", "-c", "x=$(echo a); exit 37")};
	struct capture capture;

	capture_need_rights();
	capture_run(&spec, &capture);
	capture_must_be_whole(&capture, 37);
	capture_deinit(&capture);
}

/* A file system that is too small for the artifact: said, in the status too, and the beginning is readable.
 */
Test(death, disk_full)
{
	CLEANUP_FREE char *threads = capture_fixture_path("threads");
	CLEANUP_FREE char *small = capture_new_folder("disk-full");
	CLEANUP_FREE char *folder = test_text("%s/profile", small);
	struct launch_result result;
	size_t n_events;

	capture_need_rights();
	cr_assert_eq(launch_run(&(struct launch){.argv = WORDS("mount", "-t", "tmpfs", "-o", "size=1m",
	                                                 "tmpfs", small)},
	                     &result),
	        0);
	if (result.status != 0)
		cr_skip_test("no file system can be mounted: %s", result.err);
	launch_result_deinit(&result);
	cr_assert_eq(
	        launch_run(&(struct launch){.argv = WORDS(capture_env("MEMSTACKS_RUNNER"), "--instrument",
	                                            "memory", "--experimental-stacks", "--profile-folder",
	                                            folder, "--", threads, "4", "60000")},
	                &result),
	        0);
	n_events = must_be_readable(folder, "disk full");
	umount(small);
	rmdir(small);
	/* Events were lost; and the runner itself may have failed to write its summary. */
	cr_assert(result.status == 120 || result.status == 125, "exit status %d\n%s", result.status,
	        result.err);
	cr_assert_not_null(strstr(result.err, "No space left"), "not said:\n%s", result.err);
	cr_assert_gt(n_events, 100);
	launch_result_deinit(&result);
}
