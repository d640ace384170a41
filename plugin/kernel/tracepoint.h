/* tracepoint.h: classic tracepoints by name, also where nobody mounted tracefs. */
#ifndef PLUGIN_KERNEL_TRACEPOINT_H
#define PLUGIN_KERNEL_TRACEPOINT_H

/* Opens a perf event for the tracepoint `syscalls:name` on all processes. A descriptor, close-on-exec, or a negative
 * errno: -ENOENT when this kernel has no such tracepoint. */
int tracepoint_open_syscall(const char *name);

#endif
