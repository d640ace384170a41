/* test_rights.c: whom the command runs as, and that no right of the runner gets to it. */
#include <criterion/criterion.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/host.h"

#define NOBODY        65534
#define UNKNOWN_USER  54321
#define STATUS_LOOKUP "/proc/self/status"

static void set_up(void)
{
	host_init();
	host_need_root();
	/* Other users must get at what lies in it. */
	cr_assert_eq(chmod(host_path("."), 0755), 0);
}

TestSuite(rights, .init = set_up, .fini = host_deinit);

static void call_by_sudo(uid_t uid, gid_t gid, const char *name)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", uid);
	setenv("SUDO_UID", number, 1);
	snprintf(number, sizeof(number), "%u", gid);
	setenv("SUDO_GID", number, 1);
	setenv("SUDO_USER", name, 1);
}

/* What the command sees as its own status. */
static char *status_of_command(void)
{
	struct outcome outcome = host_run(FAKE("-q", "--", "/bin/cat", STATUS_LOOKUP));

	cr_assert_eq(outcome.status, 0, "%s", outcome.err);
	return outcome.out;
}

static void expect_line(const char *text, const char *line)
{
	cr_expect_not_null(strstr(text, line), "no '%s' in %s", line, text);
}

static void expect_no_capabilities(const char *status)
{
	expect_line(status, "CapInh:\t0000000000000000\n");
	expect_line(status, "CapPrm:\t0000000000000000\n");
	expect_line(status, "CapEff:\t0000000000000000\n");
	expect_line(status, "CapAmb:\t0000000000000000\n");
}

static void expect_owner(const char *path, uid_t uid, gid_t gid)
{
	struct stat status;

	cr_assert_eq(stat(path, &status), 0, "%s", path);
	cr_expect_eq(status.st_uid, uid, "%s belongs to %u", path, status.st_uid);
	cr_expect_eq(status.st_gid, gid, "%s belongs to group %u", path, status.st_gid);
}

Test(rights, sudo)
{
	char *status;

	call_by_sudo(NOBODY, NOBODY, "nobody");
	status = status_of_command();
	expect_line(status, "Uid:\t65534\t65534\t65534\t65534\n");
	expect_line(status, "Gid:\t65534\t65534\t65534\t65534\n");
	expect_line(status, "Groups:\t65534 \n");
	expect_no_capabilities(status);
	expect_owner(host_profile(), NOBODY, NOBODY);
	expect_owner(host_profile_file("summary.json"), NOBODY, NOBODY);
	expect_line(host_read(host_profile_file("calls.txt")), "owner=65534:65534\n");
	/* The held child has its final user. */
	expect_line(host_read(host_profile_file("calls.txt")), "uid=65534 pidfd=1");
}

static void raise_inheritable(void *context)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	(void)context;
	if (syscall(SYS_capget, &header, data) < 0)
		_exit(90);
	data[0].inheritable |= 1u << CAP_CHOWN;
	if (syscall(SYS_capset, &header, data) < 0 ||
	        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0) < 0)
		_exit(91);
}

Test(rights, sudo_with_ambient_capabilities)
{
	struct outcome outcome;

	call_by_sudo(NOBODY, NOBODY, "nobody");
	outcome = host_run_prepared(FAKE("-q", "--", "/bin/cat", STATUS_LOOKUP), raise_inheritable, NULL);
	expect_no_capabilities(outcome.out);
}

Test(rights, sudo_environment)
{
	struct outcome outcome;
	const struct passwd *nobody = getpwuid(NOBODY);
	char line[256];

	cr_assert_not_null(nobody);
	call_by_sudo(NOBODY, NOBODY, "nobody");
	setenv("HOME", "/root", 1);
	setenv("OTHER", "kept", 1);
	unsetenv("LOGNAME");
	outcome = host_run(FAKE("-q", "--", "/usr/bin/env"));
	snprintf(line, sizeof(line), "HOME=%s\n", nobody->pw_dir);
	expect_line(outcome.out, line);
	expect_line(outcome.out, "USER=nobody\n");
	expect_line(outcome.out, "LOGNAME=nobody\n");
	expect_line(outcome.out, "OTHER=kept\n");
	expect_line(outcome.out, "SUDO_UID=65534\n");
}

/* The user with the most groups that there is. */
static const struct passwd *find_user(int *ret_n_groups)
{
	const struct passwd *user;
	char *best = NULL;
	int n_best = 0;

	setpwent();
	while ((user = getpwent())) {
		gid_t groups[64];
		int n_groups = 64;

		if (user->pw_uid != 0 &&
		        getgrouplist(user->pw_name, user->pw_gid, groups, &n_groups) > n_best) {
			n_best = n_groups;
			free(best);
			best = strdup(user->pw_name);
		}
	}
	endpwent();
	cr_assert_not_null(best);
	*ret_n_groups = n_best;
	return getpwnam(best);
}

Test(rights, sudo_groups)
{
	int n_groups;
	const struct passwd *user = find_user(&n_groups);
	gid_t groups[64];
	char *shown;
	int n_shown = 0;
	int n_listed = 64;

	call_by_sudo(user->pw_uid, user->pw_gid, user->pw_name);
	shown = strstr(status_of_command(), "Groups:") + strlen("Groups:");
	getgrouplist(user->pw_name, user->pw_gid, groups, &n_listed);
	for (char *number = strtok(strndup(shown, strcspn(shown, "\n")), " \t"); number;
	        number = strtok(NULL, " \t")) {
		bool found = false;

		for (int i = 0; i < n_listed; i++)
			found |= groups[i] == (gid_t)atol(number);
		cr_expect(found, "group %s is not one of %s", number, user->pw_name);
		n_shown++;
	}
	cr_expect_eq(n_shown, n_groups);
}

Test(rights, sudo_user_without_an_entry)
{
	struct outcome outcome;

	call_by_sudo(UNKNOWN_USER, UNKNOWN_USER, "somebody");
	outcome = host_run(FAKE("-q", "--", "/bin/sh", "-c", "id -u; id -G; echo $HOME $USER"));
	cr_expect_str_eq(outcome.out, "54321\n54321\n/ somebody\n");
}

Test(rights, sudo_by_root_changes_nothing)
{
	struct outcome outcome;

	call_by_sudo(0, 0, "root");
	setenv("HOME", "/kept", 1);
	outcome = host_run(FAKE("-q", "--", "/bin/sh", "-c", "id -u; echo $HOME"));
	cr_expect_str_eq(outcome.out, "0\n/kept\n");
}

Test(rights, sudo_ids_that_are_none)
{
	static const char *const ids[] = {"", "x", "-1", "4294967295", "99999999999", "1 "};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct outcome outcome;

		setenv("SUDO_GID", "65534", 1);
		setenv("SUDO_UID", ids[i], 1);
		outcome = host_run(FAKE("--", "/bin/true"));
		cr_expect_eq(outcome.status, 125, "SUDO_UID='%s'", ids[i]);
		expect_line(outcome.err, "SUDO_UID");
		setenv("SUDO_UID", "65534", 1);
		setenv("SUDO_GID", ids[i], 1);
		cr_expect_eq(host_run(FAKE("--", "/bin/true")).status, 125, "SUDO_GID='%s'", ids[i]);
	}
	unsetenv("SUDO_GID");
	setenv("SUDO_UID", "65534", 1);
	cr_expect_eq(host_run(FAKE("--", "/bin/true")).status, 125);
}

/* Root may execute it, the user may not: only execve knows. */
Test(rights, sudo_command_that_the_user_cannot_execute)
{
	char *script = host_path("script");
	struct outcome outcome;

	call_by_sudo(NOBODY, NOBODY, "nobody");
	host_write(script, "#!/bin/sh\n", 0700);
	outcome = host_run(FAKE("--", script));
	cr_expect_eq(outcome.status, 126, "status %d: %s", outcome.status, outcome.err);
	cr_expect_eq(host_n_lines(outcome.err), 1, "%s", outcome.err);
	cr_expect_null(host_profile());
}

Test(rights, root_without_sudo_stays_root)
{
	char *status = status_of_command();
	char *own = host_read(STATUS_LOOKUP);
	char *line = strstr(own, "CapEff:");

	expect_line(status, "Uid:\t0\t0\t0\t0\n");
	expect_line(status, strndup(line, strcspn(line, "\n") + 1));
}
