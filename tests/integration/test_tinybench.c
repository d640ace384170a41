/* test_tinybench.c: @codspeed/tinybench-plugin, and the names that node gives its compiled functions. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "integration/client.h"
#include "support/memory.h"
#include "util/cleanup.h"

/* What the integration itself asks for, and the map of names. */
#define NODE                                                                                                 \
	"node", "--perf-basic-prof", "--interpreted-frames-native-stack", "--allow-natives-syntax",          \
	        "--hash-seed=1", "--random-seed=1", "--no-opt", "--predictable",                             \
	        "--predictable-gc-schedule", "--expose-gc", "--no-concurrent-sweeping",                      \
	        "--max-old-space-size=4096"

static const struct client_benchmark benchmarks[] = {
        {.uri = "bench.mjs::buffers", .size = 70001, .n = 100, .function = "buildBuffers"},
        {.uri = "bench.mjs::arrays", .size = 10007 * 8, .n = 40, .function = "buildArrays"},
};

Test(tinybench, two_benchmarks)
{
	CLEANUP_FREE char *folder = client_install("tinybench");
	struct capture capture;

	client_run(&(struct capture_spec){.name = "integration-tinybench",
	                   .argv = WORDS(NODE, "bench.mjs"),
	                   .folder = folder,
	                   .timeout = 240},
	        &capture);
	client_must_have(&capture, "codspeed-node", benchmarks, 2);
	for (size_t i = 0; i < 2; i++)
		client_must_allocate(&capture, &benchmarks[i]);
	client_must_have_map(&capture);
	capture_deinit(&capture);
}
