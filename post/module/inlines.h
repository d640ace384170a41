/* inlines.h: the file <key>.inlines of a profile: which functions are inlined where, and the line of any PC.
 */
#ifndef POST_MODULE_INLINES_H
#define POST_MODULE_INLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inlines;

/* One frame at an address. Strings belong to the struct inlines. */
struct inline_frame {
	const char
	        *function; /* linkage name where there is one (mangled), else the plain name; NULL: unknown */
	const char *file;  /* full path; NULL: unknown */
	uint32_t line;     /* 0: unknown */
	bool inlined;      /* inlined into the next frame */
};

/* Reads <key>.inlines below the open folder. 0 or a negative errno: -ENOENT where the module has none,
 * -EBADMSG where it is broken, -ENOMEM. */
int inlines_read(int folder_fd, const char *key, struct inlines **ret_inlines);

/* The frames at an address, innermost first; the last one is the function that is really there, the only one
 * that is not `inlined`. Stores up to n_frames of them and returns how many there are; 0 where nothing is
 * known of the address. */
size_t inlines_find(
        const struct inlines *inlines, uint64_t svma, struct inline_frame *ret_frames, size_t n_frames);

/* NULL-safe; returns NULL. */
struct inlines *inlines_free(struct inlines *inlines);

#endif
