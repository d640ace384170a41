/* test_raised.c: a runner that has more rights than its caller: file capabilities, set-user-ID. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "support/host.h"

#define NOBODY 65534

static char *runner;
static char *plugins;

/* A runner and an instrument in a place that only root can write to. */
static void set_up(void)
{
	host_init();
	host_need_root();
	if (!host_grants_rights())
		cr_skip_test("the file system of the test grants no rights to programs");
	cr_assert_eq(chmod(host_path("."), 0755), 0);
	runner = host_path("runner");
	plugins = host_path("plugins");
	cr_assert_eq(mkdir(plugins, 0755), 0);
	cr_assert_eq(chmod(plugins, 0755), 0);
	host_copy(host_program("runner-fake.so"), host_path("plugins/runner-fake.so"), 0644);
	/* Where nobody may write. */
	cr_assert_eq(mkdir(host_path("home"), 0755), 0);
	cr_assert_eq(chown(host_path("home"), NOBODY, NOBODY), 0);
	setenv("TMPDIR", host_path("home"), 1);
}

TestSuite(raised, .init = set_up, .fini = host_deinit);

static void give_capabilities(void)
{
	struct vfs_cap_data data = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE};

	host_copy(host_runner(), runner, 0755);
	data.data[0].permitted = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_CHOWN |
	                         1u << CAP_FOWNER | 1u << CAP_SYS_PTRACE;
	cr_assert_eq(
	        setxattr(runner, "security.capability", &data, sizeof(data), 0), 0, "%s", strerror(errno));
}

static void give_user_id(void)
{
	host_copy(host_runner(), runner, 04755);
}

static void become_nobody(void *context)
{
	gid_t group = NOBODY;

	(void)context;
	if (setgroups(1, &group) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		_exit(90);
}

#define RAISED(...)                                                                                          \
	((const char *const[]){                                                                              \
	        runner, "--plugin-dir", plugins, "--instrument", "fake", "-q", __VA_ARGS__, NULL})

static struct outcome run_as_nobody(const char *const *argv)
{
	return host_run_prepared(argv, become_nobody, NULL);
}

static void expect_line(const char *text, const char *line)
{
	cr_expect_not_null(strstr(text, line), "no '%s' in %s", line, text);
}

static void expect_plain_user(void)
{
	struct outcome outcome = run_as_nobody(RAISED("--", "/bin/cat", "/proc/self/status"));
	const char *profile;
	glob_t found;

	cr_assert_eq(outcome.status, 0, "status %d: %s", outcome.status, outcome.err);
	expect_line(outcome.out, "Uid:\t65534\t65534\t65534\t65534\n");
	expect_line(outcome.out, "Gid:\t65534\t65534\t65534\t65534\n");
	expect_line(outcome.out, "Groups:\t65534 \n");
	expect_line(outcome.out, "CapInh:\t0000000000000000\n");
	expect_line(outcome.out, "CapPrm:\t0000000000000000\n");
	expect_line(outcome.out, "CapEff:\t0000000000000000\n");
	expect_line(outcome.out, "CapAmb:\t0000000000000000\n");
	expect_line(outcome.out, "NoNewPrivs:\t0\n");
	/* The dynamic loader has taken TMPDIR away from the runner. */
	profile = host_path("home/profile.??????????.out");
	cr_expect_eq(glob(profile, 0, NULL, &found), 0, "there is no %s", profile);
}

Test(raised, capabilities_do_not_reach_the_command)
{
	give_capabilities();
	expect_plain_user();
}

Test(raised, user_id_does_not_reach_the_command)
{
	give_user_id();
	expect_plain_user();
}

/* The variables of sudo are anybody's to set. */
Test(raised, user_id_with_forged_variables)
{
	give_user_id();
	setenv("SUDO_UID", "0", 1);
	setenv("SUDO_GID", "0", 1);
	expect_plain_user();
}

/* The instrument does get the rights. */
Test(raised, capabilities_reach_the_instrument)
{
	char *calls;
	struct outcome outcome;

	give_capabilities();
	outcome = run_as_nobody(
	        RAISED("--profile-folder", host_path("home/profile"), "--fake-rights", "--", "/bin/true"));
	cr_assert_eq(outcome.status, 0, "%s", outcome.err);
	calls = host_read(host_path("home/profile/calls.txt"));
	expect_line(calls, "owner=65534:65534\n");
	expect_line(calls, "effective 8000f ");
}

/* The dynamic loader takes some away from a program with raised rights. */
static void expect_whole_environment(void)
{
	struct outcome outcome;

	setenv("LD_LIBRARY_PATH", "/some/place", 1);
	setenv("MALLOC_ARENA_MAX", "2", 1);
	outcome = run_as_nobody(RAISED("--profile-folder", host_path("home/profile"), "--", "/usr/bin/env"));
	cr_assert_eq(outcome.status, 0, "%s", outcome.err);
	expect_line(outcome.out, "LD_LIBRARY_PATH=/some/place\n");
	expect_line(outcome.out, "MALLOC_ARENA_MAX=2\n");
	expect_line(outcome.out, "TMPDIR=");
	expect_line(outcome.out, "PATH=");
}

Test(raised, environment_with_capabilities)
{
	give_capabilities();
	expect_whole_environment();
}

Test(raised, environment_with_user_id)
{
	give_user_id();
	expect_whole_environment();
}

static void expect_no_folder_there(void)
{
	struct outcome outcome;
	char *private = host_path("private");
	char *empty = host_path("private/empty");

	cr_assert_eq(mkdir(private, 0755), 0);
	cr_assert_eq(mkdir(empty, 0755), 0);
	outcome = run_as_nobody(RAISED("--profile-folder", host_path("private/profile"), "--", "/bin/true"));
	cr_expect_eq(outcome.status, 125);
	expect_line(outcome.err, "Permission denied");
	outcome = run_as_nobody(RAISED("--profile-folder", empty, "--", "/bin/true"));
	cr_expect_eq(outcome.status, 125);
	expect_line(outcome.err, "Permission denied");
}

Test(raised, capabilities_do_not_make_the_folder)
{
	give_capabilities();
	expect_no_folder_there();
}

Test(raised, user_id_does_not_make_the_folder)
{
	give_user_id();
	expect_no_folder_there();
}

static void expect_instrument_refused(const char *directory)
{
	struct outcome outcome = run_as_nobody(
	        COMMAND(runner, "--plugin-dir", directory, "--instrument", "fake", "--", "/bin/true"));

	cr_expect_eq(outcome.status, 125);
	expect_line(outcome.err, "must belong to root");
}

Test(raised, foreign_instruments_are_refused)
{
	char *file = host_path("plugins/runner-fake.so");

	give_capabilities();
	cr_assert_eq(chmod(plugins, 0777), 0);
	expect_instrument_refused(plugins);
	cr_assert_eq(chmod(plugins, 0755), 0);
	cr_assert_eq(chmod(file, 0666), 0);
	expect_instrument_refused(plugins);
	cr_assert_eq(chmod(file, 0644), 0);
	cr_assert_eq(chown(file, NOBODY, NOBODY), 0);
	expect_instrument_refused(plugins);
	cr_assert_eq(chown(file, 0, 0), 0);
	cr_assert_eq(chown(plugins, NOBODY, NOBODY), 0);
	expect_instrument_refused(plugins);
	cr_assert_eq(chown(plugins, 0, 0), 0);
	expect_plain_user();
}

static void become_nobody_on_nosuid(void *context)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	        mount(plugins, plugins, NULL, MS_BIND, NULL) < 0 ||
	        mount(NULL, plugins, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID, NULL) < 0)
		_exit(77);
	become_nobody(context);
}

/* A file system that a user has mounted shows the owners that the user likes. */
Test(raised, instrument_on_a_nosuid_file_system_is_refused)
{
	struct outcome outcome;

	give_capabilities();
	outcome = host_run_prepared(RAISED("--", "/bin/true"), become_nobody_on_nosuid, NULL);
	if (outcome.status == 77)
		cr_skip_test("no file system can be mounted here");
	cr_expect_eq(outcome.status, 125);
	expect_line(outcome.err, "must belong to root");
}

Test(raised, instrument_behind_a_link_is_refused)
{
	char *directory = host_path("home/plugins");

	give_user_id();
	cr_assert_eq(mkdir(directory, 0755), 0);
	cr_assert_eq(
	        symlink(host_path("plugins/runner-fake.so"), host_path("home/plugins/runner-fake.so")), 0);
	expect_instrument_refused(directory);
}
