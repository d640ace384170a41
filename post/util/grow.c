/* grow.c: arrays that grow. */
#include "util/grow.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GROW_FIRST 16

int grow_array(void *slot, size_t *n_allocated, size_t n_needed, size_t size)
{
	size_t n = *n_allocated;
	void *array;

	if (n_needed <= n)
		return 0;
	n = n > SIZE_MAX / 2 ? n_needed : 2 * n;
	if (n < GROW_FIRST)
		n = GROW_FIRST;
	if (n < n_needed)
		n = n_needed;
	if (n > SIZE_MAX / 2 / size) /* more than any object may have */
		return -ENOMEM;
	memcpy(&array, slot, sizeof(array));
	array = realloc(array, n * size);
	if (!array)
		return -ENOMEM;
	memcpy(slot, &array, sizeof(array));
	*n_allocated = n;
	return 0;
}
