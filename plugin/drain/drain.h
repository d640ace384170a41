/* drain.h: the threads between the ring and the artifact: one empties the ring, the others encode and write. */
#ifndef PLUGIN_DRAIN_DRAIN_H
#define PLUGIN_DRAIN_DRAIN_H

#include "artifact/writer.h"
#include "drain/convert.h"
#include "drain/ring.h"

struct drain;

struct drain_settings {
	int level;              /* of zstd */
	unsigned n_workers;     /* 0: as many as leave the benchmark its processors */
	unsigned poll_ns;       /* between looks at the ring */
	void (*flush)(void *context); /* sends calls that are kept elsewhere to the ring; called now and then */
	void *flush_context;
	const struct log_sink *log;
};

/* Starts the threads. `ring`, `converter` and `writer` must outlive the result; while it runs only the counts may be
 * read. Negative errno. */
int drain_start(const struct drain_settings *settings, struct ring *ring, struct converter *converter,
	struct artifact_writer *writer, struct drain **ret_drain);

/* Takes what is still in the ring (nothing may be added any more), waits until it is written, ends the threads and
 * frees the drain. 0 or the first error of the artifact's file. NULL-safe. */
int drain_finish(struct drain *drain);

#endif
