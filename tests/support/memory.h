/* memory.h: allocation in tests, where running out of memory ends the program. */
#ifndef TESTS_SUPPORT_MEMORY_H
#define TESTS_SUPPORT_MEMORY_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Zeroed; never NULL, also for a count of 0. */
static inline void *test_alloc(size_t n, size_t size)
{
	void *block = calloc(n ? n : 1, size);

	if (!block) {
		fprintf(stderr, "out of memory for %zu elements of %zu bytes\n", n, size);
		abort();
	}
	return block;
}

/* Makes room for one more element in a list whose capacity is a power of two or 0. */
static inline void *test_grow(void *list, size_t n, size_t size)
{
	if (n & (n - 1))
		return list;
	list = reallocarray(list, n ? 2 * n : 1, size);
	if (!list)
		abort();
	return list;
}

/* printf into a new string. */
__attribute__((format(printf, 1, 2))) char *test_text(const char *format, ...);

#endif
