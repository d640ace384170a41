/* benchmarks.h: which benchmark ran when, from results/ExecutionTimestamps.msgpack (FORMATS.md section 3). */
#ifndef POST_ARTIFACT_BENCHMARKS_H
#define POST_ARTIFACT_BENCHMARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times in ns; `end` excluded. */
struct benchmark_window {
	uint64_t begin;
	uint64_t end;
	uint32_t benchmark;
};

struct benchmark {
	char *uri;
	uint32_t n_windows;
	uint64_t duration; /* ns, of all its windows; a window without an end counts as 0 */
};

/* A zeroed one is empty and valid. Windows are sorted by `begin` and do not overlap. */
struct benchmarks {
	struct benchmark *benchmarks; /* in order of first arrival */
	size_t n_benchmarks, n_benchmarks_allocated;
	struct benchmark_window *windows;
	size_t n_windows, n_windows_allocated;
	bool broken; /* the file is not what it should be: what could be read is there */
};

/* Reads the file below the profile folder. A window belongs to the first URI that arrives after its start;
 * what was sampled and never named belongs to a benchmark with the URI "". An absent file leaves
 * *ret_benchmarks empty. 0 or a negative errno. */
int benchmarks_read(int profile_fd, struct benchmarks *ret_benchmarks);

/* The same from memory: `data` is MessagePack. */
int benchmarks_parse(const void *data, size_t n, struct benchmarks *ret_benchmarks);

/* The index of a URI, or SIZE_MAX. */
size_t benchmarks_find(const struct benchmarks *benchmarks, const char *uri);

/* The index of the benchmark that was running at `time`, or SIZE_MAX. */
size_t benchmarks_at(const struct benchmarks *benchmarks, uint64_t time);

void benchmarks_deinit(struct benchmarks *benchmarks);

#endif
