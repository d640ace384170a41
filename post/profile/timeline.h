/* timeline.h: which file was mapped where in which process since when. */
#ifndef POST_PROFILE_TIMELINE_H
#define POST_PROFILE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "artifact/event.h"

/* A file mapping of one process. */
struct placement {
	uint32_t pid;
	uint32_t module; /* as the caller numbers them */
	uint64_t time;   /* ns: from then on */
	uint64_t start;  /* AVMA */
	uint64_t end;
	uint64_t file_offset; /* of `start` */
};

struct timeline;

/* 0 or -ENOMEM. */
int timeline_new(struct timeline **ret_timeline);

/* Adds a Mapping (of the file `module`), Fork, Exec or Exit; others are ignored. In the order of the stream.
 * 0 or -ENOMEM. */
int timeline_add(struct timeline *timeline, const struct event *event, uint32_t module);

/* Plays everything back in replay order. The result belongs to the timeline and is sorted by process, then
 * time; every placement there ever was is in it, and a forked child has its own from the moment of the fork.
 * What a later mapping covered at that moment is not inherited. 0 or -ENOMEM. */
int timeline_finish(struct timeline *timeline, const struct placement **ret_placements, size_t *ret_n);

/* Placements beyond the four millions that are kept: a stream that makes more is not one of a real run. */
uint64_t timeline_n_dropped(const struct timeline *timeline);

/* NULL-safe; returns NULL. */
struct timeline *timeline_free(struct timeline *timeline);

#endif
