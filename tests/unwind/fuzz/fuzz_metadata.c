/* Fuzzes the metadata of a profile: whatever they say, they are read in bounded time and memory, and what
 * they place is found. */
#include <stdlib.h>

#include "resolve/metadata.h"
#include "resolve/overlay.h"
#include "resolve/texts.h"

static void place(const struct metadata_process *process)
{
	struct overlay_range *ranges = calloc(process->n_placements + 1, sizeof(ranges[0]));
	struct overlay *overlay;

	for (size_t i = 0; i < process->n_placements; i++) {
		const struct metadata_placement *placement = &process->placements[i];

		ranges[i] = (struct overlay_range){
		        .start = placement->start, .end = placement->end, .time = placement->time};
	}
	if (overlay_new(ranges, process->n_placements, &overlay) < 0)
		abort();
	for (size_t i = 0; i < process->n_placements; i++) {
		if (ranges[i].start < ranges[i].end &&
		        !overlay_find(overlay, ranges[i].start, ranges[i].time))
			abort();
	}
	overlay_free(overlay);
	free(ranges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metadata metadata;
	struct texts *texts;

	if (texts_new(&texts) < 0)
		return 0;
	if (metadata_parse((const char *)data, size, texts, &metadata) == 0) {
		for (size_t i = 0; i < metadata.n_processes; i++)
			place(&metadata.processes[i]);
		metadata_deinit(&metadata);
	}
	texts_free(texts);
	return 0;
}
