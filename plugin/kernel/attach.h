/* attach.h: uprobes in bulk, by the best mechanism the kernel has. */
#ifndef PLUGIN_KERNEL_ATTACH_H
#define PLUGIN_KERNEL_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

/* bpf_attach_type BPF_TRACE_UPROBE_MULTI, in Linux since 6.6 (commit 89ae89f53d20); newer than the headers here. */
#define ATTACH_TYPE_UPROBE_MULTI 48

/* Can the kernel attach one program to many places of a file at once? Found out by trying. */
bool attach_has_uprobe_multi(void);

/* Attaches `program` (loaded with the attach type above) to all `n` offsets. A descriptor or a negative errno. */
int attach_uprobe_multi(int program, int file, const uint64_t *offsets, const uint64_t *cookies, unsigned n,
	bool at_return);

/* Attaches `program` to one offset through a perf event. A descriptor of the link, or a negative errno. */
int attach_uprobe_perf(int program, int file, uint64_t offset, uint64_t cookie, bool at_return);

#endif
