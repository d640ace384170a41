/* guardian.h: a small process that lets held processes go on when the runner dies, however it dies.
 *
 * It is forked before anything is loaded, holds no eBPF descriptor, and lives in a process group of its own in
 * the same session, so that neither Ctrl-C nor a kill of the runner's group reaches it. When its end of the
 * socket closes it answers the call that the runner had taken last, and from then on every call, until no process
 * under the filter is left; then it ends.
 */
#ifndef PLUGIN_TRACK_GUARDIAN_H
#define PLUGIN_TRACK_GUARDIAN_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/types.h>

struct guardian {
	pid_t pid;
	int socket;
	/* Shared with the guardian: the notification that was taken last, as listener_receive fills it. */
	struct seccomp_notif *taken;
};

/* Forks the guardian. The process must have no other threads. Negative errno. */
int guardian_start(struct guardian *ret_guardian);

/* Gives it its own copy of the listener. */
int guardian_watch(struct guardian *guardian, int listener);

/* Leaves it to itself: it ends when no process needs it any more. `is_over`: there is none, so that it ends at once and
 * is waited for. Accepts a zeroed struct. */
void guardian_release(struct guardian *guardian, bool is_over);

#endif
