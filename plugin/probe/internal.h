/* internal.h: where an allocator calls its own free.
 *
 * When a thread ends, glibc gives the blocks that its thread cache holds back to the arena by calling free itself.
 * The program freed those blocks long ago: to it these calls never happened. They differ from all others by being
 * direct calls; everything else in the library calls free through its PLT, as programs may replace it. */
#ifndef PLUGIN_PROBE_INTERNAL_H
#define PLUGIN_PROBE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "probe/functions.h"
#include "unwind/rules.h"

struct internal_call {
	uint64_t file_offset;
	uint64_t pushed; /* bytes by which the instruction lowers SP: 8 for a call, 0 for a jump */
};

/* Finds the direct calls and jumps to a probed free function in the shared library open at `fd`. `rules` tell where
 * instructions begin. *ret_calls are the caller's to free. 0 or a negative errno. On other machines
 * than x86-64, and in files that are no shared library, there are none. */
int internal_calls_find(int fd, const struct found_functions *found, const struct rules *rules,
	struct internal_call **ret_calls, size_t *ret_n);

#endif
