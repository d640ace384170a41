/* test_folder.c: the profile folder. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/host.h"

TestSuite(folder, .init = host_init, .fini = host_deinit);

static void expect_refused(const char *folder, const char *text)
{
	char *mark = host_path("mark");
	char *named = strdup(folder);
	struct outcome outcome = host_run(FAKE("--profile-folder", folder, "--", "/bin/touch", mark));

	cr_expect_eq(outcome.status, 125);
	cr_expect_eq(host_n_lines(outcome.err), 1, "not one line: %s", outcome.err);
	cr_expect_not_null(strstr(outcome.err, text), "no '%s' in %s", text, outcome.err);
	/* It is named without a slash at its end. */
	if (*named && named[strlen(named) - 1] == '/')
		named[strlen(named) - 1] = '\0';
	cr_expect_not_null(strstr(outcome.err, named), "no '%s' in %s", named, outcome.err);
	cr_expect_null(host_read(mark), "the command was started");
}

static void expect_mode(const char *path, mode_t mode)
{
	struct stat status;

	cr_assert_eq(stat(path, &status), 0, "%s: %s", path, strerror(errno));
	cr_expect_eq(status.st_mode & 07777, mode, "%s has mode %o", path, status.st_mode & 07777);
	cr_expect_eq(status.st_uid, geteuid());
}

Test(folder, fresh_ones_are_private_and_different)
{
	struct outcome outcome = host_run(FAKE("--", "/bin/true"));
	char *path = host_profile();

	cr_assert_not_null(path);
	cr_expect_not_null(strstr(outcome.err, path), "its name is not told: %s", outcome.err);
	expect_mode(path, 0700);
	expect_mode(host_profile_file("summary.json"), 0600);
	host_run(FAKE("--", "/bin/true"));
	cr_expect_null(host_profile(), "there are not two");
}

Test(folder, named)
{
	char *path = host_path("named");

	cr_expect_eq(host_run(FAKE("--profile-folder", path, "--", "/bin/true")).status, 0);
	expect_mode(path, 0700);
}

Test(folder, existing_becomes_private)
{
	char *path = host_path("named");
	char *with_slashes;

	cr_assert_eq(mkdir(path, 0755), 0);
	cr_assert(asprintf(&with_slashes, "%s//", path) >= 0);
	cr_expect_eq(host_run(FAKE("--profile-folder", with_slashes, "--", "/bin/true")).status, 0);
	expect_mode(path, 0700);
	cr_expect_not_null(host_read(host_path("named/summary.json")));
}

static void mask_all(void *context)
{
	(void)context;
	umask(0777);
}

Test(folder, any_umask)
{
	cr_expect_eq(host_run_prepared(FAKE("--", "/bin/true"), mask_all, NULL).status, 0);
	expect_mode(host_profile(), 0700);
	expect_mode(host_profile_file("summary.json"), 0600);
}

Test(folder, not_empty)
{
	char *path = host_path("full");

	cr_assert_eq(mkdir(path, 0755), 0);
	host_write(host_path("full/.hidden"), "mine", 0644);
	expect_refused(path, "is not empty");
	cr_expect_str_eq(host_read(host_path("full/.hidden")), "mine");
	expect_mode(path, 0755);
}

Test(folder, symbolic_link)
{
	char *path = host_path("link");
	char *with_slash;

	cr_assert_eq(mkdir(host_path("target"), 0755), 0);
	cr_assert_eq(symlink(host_path("target"), path), 0);
	expect_refused(path, "symbolic link");
	cr_assert(asprintf(&with_slash, "%s/", path) >= 0);
	expect_refused(with_slash, "symbolic link");
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(symlink("/no/such/place", path), 0);
	expect_refused(path, "symbolic link");
}

Test(folder, no_directory)
{
	char *path = host_path("file");

	host_write(path, "mine", 0644);
	expect_refused(path, "is a file");
	expect_refused(host_path("file/below"), "Not a directory");
	expect_refused(host_path("missing/below"), "No such file");
	expect_refused("", "no name");
}

Test(folder, no_place_for_a_fresh_one)
{
	struct outcome outcome;

	setenv("TMPDIR", "/no/such/place", 1);
	outcome = host_run(FAKE("--", "/bin/true"));
	cr_expect_eq(outcome.status, 125);
	cr_expect_not_null(strstr(outcome.err, "/no/such/place/profile."), "%s", outcome.err);
}

/* Without the rights of root, and with what another user must reach. */
static void become_nobody(void *context)
{
	(void)context;
	if (setgid(65534) < 0 || setuid(65534) < 0)
		_exit(90);
}

Test(folder, not_writable)
{
	char *path = host_path("read-only");
	char *runner = host_path("runner");
	char *plugin = host_path("runner-fake.so");
	struct outcome outcome;

	host_need_root();
	cr_assert_eq(chmod(host_path("."), 0755), 0);
	cr_assert_eq(mkdir(path, 0755), 0);
	host_copy(host_runner(), runner, 0755);
	host_copy(host_program("runner-fake.so"), plugin, 0755);
	outcome = host_run_prepared(COMMAND(runner, "--plugin-dir", host_path("."), "--instrument", "fake",
	                                    "--profile-folder", path, "--", "/bin/true"),
	        become_nobody, NULL);
	cr_expect_eq(outcome.status, 125);
	cr_expect_not_null(strstr(outcome.err, "cannot write to the profile folder"), "%s", outcome.err);
}

/* What a run leaves that never got to its command: nothing. */
Test(folder, nothing_stays_of_a_failed_start)
{
	char *path = host_path("named");

	cr_expect_eq(host_run(FAKE("--fake-litter", "--fake-fail=open", "--", "/bin/true")).status, 125);
	cr_expect_null(host_profile());
	cr_expect_eq(host_run(FAKE("--fake-litter", "--fake-fail=pre_exec", "--", "/bin/true")).status, 125);
	cr_expect_null(host_profile());
	cr_assert_eq(mkdir(path, 0755), 0);
	cr_expect_eq(host_run(FAKE("--profile-folder", path, "--fake-litter", "--fake-fail=open", "--",
	                              "/bin/true"))
	                     .status,
	        125);
	cr_expect_eq(rmdir(path), 0, "the directory of the user is not empty, or gone");
}

static void mount_small(void *context)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	        mount("none", context, "tmpfs", 0, "size=8k,mode=755") < 0)
		_exit(77);
}

Test(folder, full_disk)
{
	char *path = host_path("small");
	char *profile = host_path("small/profile");
	char *fill = host_path("small/fill");
	struct outcome outcome;

	host_need_root();
	cr_assert_eq(mkdir(path, 0755), 0);
	outcome = host_run_prepared(FAKE("--profile-folder", profile, "--", "/bin/sh", "-c",
	                                    "cat /dev/zero > \"$1\" 2>/dev/null; exit 0", "sh", fill),
	        mount_small, path);
	if (outcome.status == 77)
		cr_skip_test("no file system can be mounted here");
	cr_expect_eq(outcome.status, 125, "status %d: %s", outcome.status, outcome.err);
	cr_expect_not_null(
	        strstr(outcome.err, "cannot write summary.json: No space left"), "%s", outcome.err);
}

static void limit_files(void *context)
{
	if (setrlimit(RLIMIT_FSIZE, context) < 0)
		_exit(90);
}

/* The limit is for the command's files; the profile is larger. */
Test(folder, size_limit_of_the_command)
{
	struct rlimit soft = {16, RLIM_INFINITY};
	char *path = host_path("written");
	struct outcome outcome =
	        host_run_prepared(FAKE("--", "/bin/sh", "-c", "head -c 100 /dev/zero > \"$1\"", "sh", path),
	                limit_files, &soft);
	struct stat status;

	cr_expect_neq(outcome.status, 0);
	cr_assert_eq(stat(path, &status), 0);
	cr_expect_eq(status.st_size, 16);
	cr_expect_eq(stat(host_profile_file("summary.json"), &status), 0);
	cr_expect_gt(status.st_size, 16);
}

/* One that the runner cannot raise is an error like a full disk, and no death by SIGXFSZ. */
Test(folder, hard_size_limit)
{
	struct rlimit hard = {200, 200};
	struct outcome outcome = host_run_prepared(FAKE("-q", "--", "/bin/true"), limit_files, &hard);

	cr_expect_eq(outcome.status, 125, "status %d", outcome.status);
	cr_expect_not_null(
	        strstr(outcome.err, "cannot write summary.json: File too large"), "%s", outcome.err);
}

static void unmask_all(void *context)
{
	(void)context;
	umask(0);
}

/* Also what an instrument makes without thinking of it. */
Test(folder, files_of_the_instrument_are_private)
{
	cr_expect_eq(host_run_prepared(FAKE("--fake-litter", "--", "/bin/true"), unmask_all, NULL).status, 0);
	expect_mode(host_profile_file("results/file"), 0600);
}
