/* timeline.h: live bytes over time, in a fixed number of slices. */
#ifndef POST_HEAP_TIMELINE_H
#define POST_HEAP_TIMELINE_H

#include <stdint.h>

#define HEAP_N_SLICES 1024

struct heap_slice {
	uint64_t highest; /* bytes: the most that was live at any moment of the slice */
	uint64_t last;    /* bytes: live at its end */
};

struct heap_timeline {
	uint64_t begin; /* ns; slice i covers begin + [i, i + 1) * width */
	uint64_t width; /* ns, at least 1 */
	uint64_t live;  /* bytes, now */
	uint32_t current;
	struct heap_slice slices[HEAP_N_SLICES];
};

/* For the times from `begin` to `end`, both included. */
void heap_timeline_init(struct heap_timeline *timeline, uint64_t begin, uint64_t end);

/* From `time` on, `live` bytes are live. Times do not go back; those outside the range count at its ends. */
void heap_timeline_note(struct heap_timeline *timeline, uint64_t time, uint64_t live);

/* Carries the last value on to the last slice. */
void heap_timeline_finish(struct heap_timeline *timeline);

#endif
