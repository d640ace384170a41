/* short_name.h: names of functions that fit on a line. */
#ifndef POST_REPORT_SHORT_NAME_H
#define POST_REPORT_SHORT_NAME_H

#include <stddef.h>

/* A copy of a demangled name with its template arguments left out, `map<…>::operator[](…)`, and then its
 * parameters, as far as is needed to make it no longer than `limit` bytes; if it still is, it is cut. A limit
 * of 0 leaves it as it is. The caller frees it. NULL: no memory. */
char *short_name(const char *name, size_t limit);

#endif
