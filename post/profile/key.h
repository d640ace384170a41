/* key.h: the names of modules in a profile (FORMATS.md section 1). */
#ifndef POST_PROFILE_KEY_H
#define POST_PROFILE_KEY_H

#include <stddef.h>

/* <index>__<last component of the path>, cut to 200 bytes after a whole character; '/', control characters
 * and invalid UTF-8 are '_'. The caller frees it. NULL: no memory. */
char *key_make(size_t index, const char *path, size_t n_path);

#endif
