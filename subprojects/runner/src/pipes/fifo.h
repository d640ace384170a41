/* fifo.h: the two FIFOs between benchmarks and the runner, at fixed paths in a directory that everyone may
 * write to.
 *
 * A FIFO appears under its path only when it is complete: made under another name, owned by the benchmark's
 * user, mode 0600, open, locked, then renamed. The lock (flock) on the control FIFO is what makes a runner
 * the one that listens: it ends with the process, however that ends, so a FIFO without a lock is one that a
 * dead runner left, and is replaced.
 */
#ifndef RUNNER_PIPES_FIFO_H
#define RUNNER_PIPES_FIFO_H

#include <sys/types.h>

#include "term/console.h"

struct fifo {
	char *path;
	int fd; /* read-write, non-blocking, close-on-exec */
	dev_t device;
	ino_t inode;
};

struct fifo_pair {
	struct fifo control; /* benchmark to runner */
	struct fifo answer;  /* runner to benchmark */
};

#define FIFO_PAIR_NONE ((struct fifo_pair){.control = {.fd = -1}, .answer = {.fd = -1}})

/* Makes both for the user uid, gid. Refused, and left alone, is whatever stands at a path and is not a FIFO
 * of this user or of the runner's own. -EBUSY: another runner listens there; -EEXIST: something else is
 * there; or the system's. Errors are said. */
int fifo_pair_init(struct fifo_pair *ret_pair, const char *control_path, const char *answer_path, uid_t uid,
        gid_t gid, struct console *console);

/* Removes what stands at the paths if it is still what fifo_pair_init put there. */
void fifo_pair_deinit(struct fifo_pair *pair);

/* Whether any process but this one has the FIFO open. Where that cannot be seen the answer is yes. */
bool fifo_is_open_elsewhere(const struct fifo *fifo);

#endif
