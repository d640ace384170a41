/* identity.h: the user that the benchmark runs as.
 *
 *   sudo (user root, SUDO_UID and SUDO_GID set)   the user who called sudo, with their groups
 *   the runner is set-user-ID                     the user who called the runner
 *   file capabilities on the runner               the same user, without any capability
 *   otherwise                                     as the runner
 */
#ifndef RUNNER_PROCESS_IDENTITY_H
#define RUNNER_PROCESS_IDENTITY_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "process/environment.h"
#include "term/console.h"

struct identity {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary groups to take; NULL: those of the runner */
	size_t n_groups;
	bool changes_user;
	bool drops_capabilities;
};

/* Decides, and sets HOME, USER and LOGNAME in `environment` when it is another user under sudo. -EINVAL:
 * SUDO_UID or SUDO_GID is not an id (an error: not knowing who called must not mean root). Errors are said.
 */
int identity_init(struct identity *ret_identity, struct environment *environment, struct console *console);
void identity_deinit(struct identity *identity);

/* Becomes that user, for good, and checks it. In the child; async-signal-safe. */
int identity_assume(const struct identity *identity);

/* The runner's own rights while they are lowered. */
struct rights {
	bool lowered;
	uid_t uid;
	gid_t gid;
	struct __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3];
};

/* For work on files that the caller named: with the caller's rights as long as it takes. Changes nothing
 * unless the runner was given rights that the caller does not have (set-user-ID, file capabilities). */
int identity_lower_rights(struct rights *ret_rights);
int identity_raise_rights(const struct rights *rights);

#endif
