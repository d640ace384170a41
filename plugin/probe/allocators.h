/* allocators.h: the table of allocator functions: names, what they are, where their arguments are.
 *
 * A new allocator is a new row. Which of the functions that exist are probed, and why the others are not, is
 * said in the table.
 */
#ifndef PLUGIN_PROBE_ALLOCATORS_H
#define PLUGIN_PROBE_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocator_function {
	const char *symbol;
	uint64_t cookie;      /* COOKIE(…) of bpf/record.h */
	unsigned n_arguments; /* registers the programs read: they must be untouched at the probe site */
};

/* The row of a symbol, or NULL. Earlier rows win where several names have one address. */
const struct allocator_function *allocator_function_find(const char *symbol);

/* Does it only end a block? Such a function is probed at its entry alone. */
bool allocator_function_is_free(const struct allocator_function *function);

#endif
