/* allocators.c: the table. */
#include "probe/allocators.h"

#include <string.h>

#include "record.h"
#include "util/cleanup.h"

#define NONE COOKIE_NO_ARGUMENT

/* Positions count from 0: size, count it is multiplied with, pointer given, pointer to the result. */
#define ALLOCATES(name, kind, size, count, n)                                                              \
	{                                                                                                  \
		name, COOKIE(kind, size, count, NONE, NONE, 0), n                                          \
	}
#define REALLOCATES(name, size, count, pointer, n)                                                         \
	{                                                                                                  \
		name, COOKIE(RECORD_REALLOC, size, count, pointer, NONE, 0), n                             \
	}
#define STORES(name, kind, size, result, n)                                                                \
	{                                                                                                  \
		name, COOKIE(kind, size, NONE, NONE, result, 0), n                                         \
	}
#define FREES(name, pointer, forwards)                                                                     \
	{                                                                                                  \
		name, COOKIE(RECORD_FREE, 0, NONE, pointer, NONE, forwards), (pointer) + 1                 \
	}

/* C: ISO C, POSIX and the extensions of glibc, musl and the allocators that take the C library's names. The C++
 * operators of libstdc++ and libc++ only forward to malloc and free and are not probed: an exception could not
 * pass their return probes, and malloc's own entry sees the whole stack with the operator in it. */
static const struct allocator_function table[] = {
	ALLOCATES("malloc", RECORD_MALLOC, 0, NONE, 1),
	ALLOCATES("calloc", RECORD_CALLOC, 1, 0, 2),
	REALLOCATES("realloc", 1, NONE, 0, 2),
	REALLOCATES("reallocarray", 2, 1, 0, 3),
	FREES("free", 0, 0),
	FREES("cfree", 0, 1),
	FREES("free_sized", 0, 1),
	FREES("free_aligned_sized", 0, 1),
	ALLOCATES("aligned_alloc", RECORD_ALIGNED_ALLOC, 1, NONE, 2),
	ALLOCATES("memalign", RECORD_ALIGNED_ALLOC, 1, NONE, 2),
	STORES("posix_memalign", RECORD_ALIGNED_ALLOC, 2, 0, 3),
	ALLOCATES("valloc", RECORD_ALIGNED_ALLOC, 0, NONE, 1),
	ALLOCATES("pvalloc", RECORD_ALIGNED_ALLOC, 0, NONE, 1),
};

const struct allocator_function *allocator_function_find(const char *symbol)
{
	for (size_t i = 0; i < N_ELEMENTS(table); i++)
		if (!strcmp(table[i].symbol, symbol))
			return &table[i];
	return NULL;
}

bool allocator_function_is_free(const struct allocator_function *function)
{
	return COOKIE_KIND(function->cookie) == RECORD_FREE;
}
