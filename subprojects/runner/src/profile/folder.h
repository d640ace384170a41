/* folder.h: the profile folder. */
#ifndef RUNNER_PROFILE_FOLDER_H
#define RUNNER_PROFILE_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "term/console.h"

struct folder {
	char *path; /* as the user would name it */
	int fd;     /* the open directory */
	uid_t uid;  /* who owns it and what is in it */
	gid_t gid;
	bool is_new; /* made by folder_init */
};

#define FOLDER_NONE ((struct folder){.fd = -1})

/* Makes the directory `path` or takes an empty one; NULL: makes a new one in `parent` (NULL or empty: /tmp).
 * Afterwards it has mode 0700 and belongs to uid and gid. Errors are said: -EEXIST: there is something else;
 * -ENOTEMPTY; or the system's. */
int folder_init(struct folder *ret_folder, const char *path, const char *parent, uid_t uid, gid_t gid,
        struct console *console);
void folder_deinit(struct folder *folder);

/* Removes a directory that folder_init made, with all that was put into it, when there was no run. An
 * existing one is emptied again. What cannot be removed stays. */
void folder_discard(struct folder *folder);

/* Makes a new file in it, readable by its owner only. A descriptor or -errno. */
int folder_create_file(const struct folder *folder, const char *name);

#endif
