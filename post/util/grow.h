/* grow.h: arrays that grow. */
#ifndef POST_UTIL_GROW_H
#define POST_UTIL_GROW_H

#include <stddef.h>

/* Makes room for at least n_needed elements of `size` bytes in the heap array *(void **)slot, of which
 * *n_allocated are allocated now; at least doubles it, so that appending stays linear. 0, or -ENOMEM with
 * everything as it was. */
int grow_array(void *slot, size_t *n_allocated, size_t n_needed, size_t size);

/* For appending one element to `array`, which has n elements. */
#define GROW_BY_ONE(array, n_allocated, n) grow_array(&(array), &(n_allocated), (n) + 1, sizeof((array)[0]))

#endif
