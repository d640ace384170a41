/* identity.c: the user that the benchmark runs as. */
#include "process/identity.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner_plugin.h"
#include "util/cleanup.h"
#include "util/text.h"

static int read_id(const char *name, const char *text, struct console *console, uint32_t *ret_id)
{
	uint64_t id;

	/* The highest id means "no change" to the system calls. */
	if (!text || text_parse_number(text, UINT32_MAX - 1, &id) < 0) {
		console_error(console, "%s is '%s', which is no id: cannot tell whom to run the command as",
		        name, text ? text : "");
		return -EINVAL;
	}
	*ret_id = (uint32_t)id;
	return 0;
}

static int take_groups(struct identity *identity, const char *name)
{
	int n_groups = 64;

	for (;;) {
		gid_t *groups = calloc((size_t)n_groups, sizeof(*groups));
		int n_room = n_groups;

		if (!groups)
			return -ENOMEM;
		if (getgrouplist(name, identity->gid, groups, &n_groups) >= 0) {
			identity->groups = groups;
			identity->n_groups = (size_t)n_groups;
			return 0;
		}
		free(groups);
		if (n_groups <= n_room || n_groups > NGROUPS_MAX)
			return -E2BIG;
	}
}

static int set_user_variables(struct environment *environment, const char *name, const char *home)
{
	int error = environment_set(environment, "HOME", home);

	if (error == 0)
		error = environment_set(environment, "USER", name);
	if (error == 0)
		error = environment_set(environment, "LOGNAME", name);
	return error;
}

/* A user without an entry in the user database has their own group only, and no home. */
static int take_unknown_user(struct identity *identity, struct environment *environment)
{
	const char *name = getenv("SUDO_USER");
	char number[16];

	snprintf(number, sizeof(number), "%u", (unsigned)identity->uid);
	identity->groups = malloc(sizeof(*identity->groups));
	if (!identity->groups)
		return -ENOMEM;
	identity->groups[0] = identity->gid;
	identity->n_groups = 1;
	return set_user_variables(environment, name && *name ? name : number, "/");
}

static int take_sudo_user(struct identity *identity, struct environment *environment, struct console *console)
{
	const struct passwd *user;
	uint32_t uid, gid;
	int error = read_id("SUDO_UID", getenv("SUDO_UID"), console, &uid);

	if (error == 0)
		error = read_id("SUDO_GID", getenv("SUDO_GID"), console, &gid);
	if (error < 0)
		return error;
	if (uid == 0)
		return 0;
	identity->uid = uid;
	identity->gid = gid;
	identity->changes_user = true;
	identity->drops_capabilities = true;
	user = getpwuid(uid);
	if (!user)
		error = take_unknown_user(identity, environment);
	else if ((error = take_groups(identity, user->pw_name)) == 0)
		error = set_user_variables(environment, user->pw_name, user->pw_dir);
	if (error < 0)
		console_error(console, "cannot find out about user %u: %s", uid, strerror(-error));
	return error;
}

int identity_init(struct identity *ret_identity, struct environment *environment, struct console *console)
{
	struct identity identity = {.uid = getuid(), .gid = getgid()};
	bool by_sudo = getenv("SUDO_UID") || getenv("SUDO_GID");

	/* The environment speaks for sudo only when the caller is root: anyone else could set it. */
	if (getuid() == 0 && geteuid() == 0 && by_sudo) {
		int error = take_sudo_user(&identity, environment, console);

		if (error < 0) {
			identity_deinit(&identity);
			return error;
		}
	} else if (getauxval(AT_SECURE) && getuid() != 0) {
		identity.changes_user = geteuid() != getuid() || getegid() != getgid();
		identity.drops_capabilities = true;
	}
	*ret_identity = identity;
	return 0;
}

void identity_deinit(struct identity *identity)
{
	free(identity->groups);
	*identity = (struct identity){0};
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

static int check(const struct identity *identity)
{
	uid_t uid[3];
	gid_t gid[3];

	if (getresuid(&uid[0], &uid[1], &uid[2]) < 0 || getresgid(&gid[0], &gid[1], &gid[2]) < 0)
		return -errno;
	for (int i = 0; i < 3; i++)
		if (uid[i] != identity->uid || gid[i] != identity->gid)
			return -EPERM;
	if (identity->groups && getgroups(0, NULL) != (int)identity->n_groups)
		return -EPERM;
	/* The way back must be closed. */
	return identity->uid != 0 && syscall(SYS_setuid, 0) == 0 ? -EPERM : 0;
}

/* System calls and not the C library's functions: those want to change all threads of the process, whose list
 * a forked child must not trust. */
int identity_assume(const struct identity *identity)
{
	int error = 0;

	if (identity->groups && syscall(SYS_setgroups, identity->n_groups, identity->groups) < 0)
		return -errno;
	if (identity->changes_user) {
		if (syscall(SYS_setresgid, identity->gid, identity->gid, identity->gid) < 0)
			return -errno;
		if (syscall(SYS_setresuid, identity->uid, identity->uid, identity->uid) < 0)
			return -errno;
	}
	if (identity->drops_capabilities)
		error = drop_capabilities();
	if (error == 0 && identity->changes_user)
		error = check(identity);
	return error;
}

int identity_lower_rights(struct rights *ret_rights)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct lowered[_LINUX_CAPABILITY_U32S_3];
	struct rights rights = {.uid = geteuid(), .gid = getegid(), .lowered = getauxval(AT_SECURE) != 0};

	*ret_rights = (struct rights){0};
	if (!rights.lowered)
		return 0;
	if (syscall(SYS_capget, &header, rights.capabilities) < 0)
		return -errno;
	memcpy(lowered, rights.capabilities, sizeof(lowered));
	for (size_t i = 0; i < N_ELEMENTS(lowered); i++)
		lowered[i].effective = 0;
	if (setegid(getgid()) < 0 || seteuid(getuid()) < 0 || syscall(SYS_capset, &header, lowered) < 0)
		return -errno;
	*ret_rights = rights;
	return 0;
}

int identity_raise_rights(const struct rights *rights)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	if (!rights->lowered)
		return 0;
	if (seteuid(rights->uid) < 0 || setegid(rights->gid) < 0 ||
	        syscall(SYS_capset, &header, rights->capabilities) < 0)
		return -errno;
	return 0;
}
