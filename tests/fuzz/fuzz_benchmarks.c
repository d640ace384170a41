/* fuzz_benchmarks.c: any bytes as results/ExecutionTimestamps.msgpack. */
#include <stdlib.h>

#include "artifact/benchmarks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct benchmarks benchmarks;

	if (benchmarks_parse(data, n, &benchmarks) < 0)
		return 0;
	for (size_t i = 0; i < benchmarks.n_windows; i++) {
		const struct benchmark_window *window = &benchmarks.windows[i];

		if (window->benchmark >= benchmarks.n_benchmarks || window->end < window->begin ||
		        (i > 0 && window[-1].end > window->begin))
			abort();
		if (window->end > window->begin &&
		        benchmarks_at(&benchmarks, window->begin) != window->benchmark)
			abort();
	}
	for (size_t i = 0; i < benchmarks.n_benchmarks; i++)
		if (benchmarks_find(&benchmarks, benchmarks.benchmarks[i].uri) > i)
			abort();
	benchmarks_deinit(&benchmarks);
	return 0;
}
