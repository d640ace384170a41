/* fuzz_inlines.c: any bytes as <key>.inlines: as its file, and as what is inside its frame. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "module/inline_tables.h"

#define MAGIC_BYTES 8
#define N_FRAMES    8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void parse(const uint8_t *bytes, size_t n)
{
	struct inlines *inlines;
	struct inline_frame frames[N_FRAMES];

	if (inlines_parse(bytes, n, &inlines) < 0)
		return;
	for (size_t i = 0; i < inlines->n_rows + inlines->n_segments; i++) {
		uint64_t svma = i < inlines->n_rows ? inlines->rows[i].start
		                                    : inlines->segments[i - inlines->n_rows].start;
		size_t n_frames = inlines_find(inlines, svma, frames, N_FRAMES);

		for (size_t j = 0; j < n_frames && j < N_FRAMES; j++)
			if ((frames[j].function && !frames[j].function[0]) ||
			        (frames[j].file && !frames[j].file[0]))
				abort();
	}
	inlines_free(inlines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	size_t n_bound = ZSTD_compressBound(n), n_frame;
	uint8_t *framed = malloc(MAGIC_BYTES + n_bound);

	if (!framed)
		abort();
	parse(data, n);
	memcpy(framed, "MSINLIN1", MAGIC_BYTES);
	n_frame = ZSTD_compress(framed + MAGIC_BYTES, n_bound, data, n, 1);
	parse(framed, MAGIC_BYTES + n_frame);
	free(framed);
	return 0;
}
