/* fuzz_unwind_data.c: any bytes as <key>.unwind_data. */
#include <stdlib.h>

#include "module/unwind_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_inside(const uint8_t *data, size_t n, const void *piece, size_t n_piece)
{
	const uint8_t *start = piece;

	if (n_piece > n || (n_piece > 0 && (start < data || start > data + n - n_piece)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct unwind_data unwind_data;

	if (unwind_data_parse(data, n, &unwind_data) < 0)
		return 0;
	check_inside(data, n, unwind_data.path, unwind_data.n_path);
	check_inside(data, n, unwind_data.eh_frame_hdr, unwind_data.n_eh_frame_hdr);
	check_inside(data, n, unwind_data.eh_frame, unwind_data.n_eh_frame);
	return 0;
}
