/* drain.h: two threads: one empties the ring, the other encodes and writes. */
#ifndef PLUGIN_DRAIN_DRAIN_H
#define PLUGIN_DRAIN_DRAIN_H

#include "drain/convert.h"
#include "drain/ring.h"

struct drain;

/* Starts both threads. `ring` and `converter` must outlive the result; while it runs only `counts` may be read.
 * Negative errno. */
int drain_start(struct ring *ring, struct converter *converter, struct drain **ret_drain);

/* Takes what is still in the ring (nothing may be added any more), waits until it is written, ends both threads
 * and frees the drain. 0 or the first error of the artifact's file. NULL-safe. */
int drain_finish(struct drain *drain);

#endif
