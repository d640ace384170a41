/* closing.h: closes links and perf events beside other work.
 *
 * To close a link is to wait until no processor can still be in its program, an RCU grace period of tens of
 * milliseconds; links that are closed at a time share it. A perf event of a tracepoint takes another one when the last
 * of its descriptor and its link is closed, and those the kernel closes one after the other; but without a link there is
 * no program on it any more. */
#ifndef PLUGIN_KERNEL_CLOSING_H
#define PLUGIN_KERNEL_CLOSING_H

#include <stddef.h>

/* Descriptors; all zero: none. */
struct descriptors {
	int *fds;
	size_t n;
	size_t n_allocated;
};

/* Takes over `fd`, also where it fails: then it is closed. 0 or -ENOMEM. */
int descriptors_add(struct descriptors *descriptors, int fd);

/* Takes over those in `from`, which is empty afterwards. What there is no memory for is closed at once. */
void descriptors_move(struct descriptors *descriptors, struct descriptors *from);

/* Closes all of them, many at a time, and returns when the last one is closed. None are left. */
void descriptors_close(struct descriptors *descriptors);

struct closing;

/* Takes over both lists and closes first the links, then the events, on a thread. Returns NULL where there is no thread
 * to be had: then everything is closed already. */
struct closing *closing_start(struct descriptors *links, struct descriptors *events);

/* Returns when the links are closed: no program of theirs runs from here on. Accepts NULL. */
void closing_wait_for_links(struct closing *closing);

/* Returns when everything is closed. NULL-safe; returns NULL. */
struct closing *closing_finish(struct closing *closing);

#endif
