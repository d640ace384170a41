/* attach.h: uprobes in bulk, by the best mechanism the kernel has. */
#ifndef PLUGIN_KERNEL_ATTACH_H
#define PLUGIN_KERNEL_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

/* How programs can be put on functions, best last. */
enum attach_mechanism {
	ATTACH_PERF,    /* a perf event per place */
	ATTACH_MULTI,   /* a link for many places of a file, Linux 6.6 (commit 89ae89f53d20) */
	ATTACH_SESSION, /* and one program for entry and return, Linux 6.13 (commit d920179b3d48) */
};

/* The best one that this kernel has, found out by trying. */
enum attach_mechanism attach_mechanism_probe(void);

/* The expected_attach_type a program has to be loaded with; newer than the headers here. */
#define ATTACH_TYPE_UPROBE_MULTI   48
#define ATTACH_TYPE_UPROBE_SESSION 57

/* Attaches `program` to all `n` offsets of the file open at `file`. `type` is the one it was loaded with; `at_return`
 * is for ATTACH_TYPE_UPROBE_MULTI. A descriptor or a negative errno. */
int attach_uprobe_multi(int program, uint32_t type, int file, const uint64_t *offsets, const uint64_t *cookies,
	unsigned n, bool at_return);

/* Attaches `program` to one offset through a perf event. A descriptor of the link, or a negative errno. */
int attach_uprobe_perf(int program, int file, uint64_t offset, uint64_t cookie, bool at_return);

#endif
