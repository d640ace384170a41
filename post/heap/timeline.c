/* timeline.c: live bytes over time. */
#include "heap/timeline.h"

void heap_timeline_init(struct heap_timeline *timeline, uint64_t begin, uint64_t end)
{
	uint64_t span = end > begin ? end - begin : 0;

	*timeline = (struct heap_timeline){.begin = begin, .width = span / HEAP_N_SLICES + 1};
}

/* Closes the slices before `slice`: what is live now was so all through them. */
static void go_on_to(struct heap_timeline *timeline, uint32_t slice)
{
	while (timeline->current < slice) {
		timeline->slices[timeline->current++].last = timeline->live;
		timeline->slices[timeline->current].highest = timeline->live;
	}
}

void heap_timeline_note(struct heap_timeline *timeline, uint64_t time, uint64_t live)
{
	uint64_t slice = time > timeline->begin ? (time - timeline->begin) / timeline->width : 0;

	if (slice >= HEAP_N_SLICES)
		slice = HEAP_N_SLICES - 1;
	if (slice > timeline->current)
		go_on_to(timeline, (uint32_t)slice);
	timeline->live = live;
	if (live > timeline->slices[timeline->current].highest)
		timeline->slices[timeline->current].highest = live;
}

void heap_timeline_finish(struct heap_timeline *timeline)
{
	go_on_to(timeline, HEAP_N_SLICES - 1);
	timeline->slices[HEAP_N_SLICES - 1].last = timeline->live;
}
