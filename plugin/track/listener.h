/* listener.h: the seccomp user notification by which processes are held while new code is classified.
 *
 * A filter on the benchmark and its descendants turns the few system calls that bring new code (an executable
 * file mapping, and the one by which a new program sets its thread pointer) into notifications: the call waits in
 * the kernel until it is answered, no signal is involved and nobody can see it. See seccomp_unotify(2).
 */
#ifndef PLUGIN_TRACK_LISTENER_H
#define PLUGIN_TRACK_LISTENER_H

#include <linux/seccomp.h>
#include <stdint.h>

/* Installs the filter on the calling thread, which must have CAP_SYS_ADMIN in its user namespace. Returns the
 * listener's descriptor or a negative errno. Async-signal-safe. */
int listener_install(void);

/* Waits for the next call. `notification` is written by the kernel before the call counts as taken, so that,
 * in shared memory, another process can answer it whatever becomes of this one. 0 or a negative errno: -ENOENT
 * when the caller was killed meanwhile. */
int listener_receive(int listener, struct seccomp_notif *notification);

/* Lets the call go on, unchanged. 0, or -ENOENT when nobody waits for it any more. */
int listener_continue(int listener, uint64_t id);

/* Is the call still waiting, and so everything read of its process meanwhile still that process's? */
int listener_is_valid(int listener, uint64_t id);

#endif
