/* gzip.h: a gzip stream (RFC 1952) into a stdio one. */
#ifndef POST_EXPORT_GZIP_H
#define POST_EXPORT_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct gzip;

/* `out` is borrowed; its errors stay with it. 0 or -ENOMEM. */
int gzip_new(FILE *out, struct gzip **ret_gzip);

/* 0 or -EIO. */
int gzip_write(struct gzip *gzip, const void *data, size_t n);

/* Writes what is pending and the end of the stream. 0 or -EIO. */
int gzip_finish(struct gzip *gzip);

/* NULL-safe; returns NULL. */
struct gzip *gzip_free(struct gzip *gzip);

#endif
