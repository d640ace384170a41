/* test_pytest.c: pytest-codspeed, under Debian's Python, and under one that names its functions to perf. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "integration/client.h"
#include "support/memory.h"
#include "util/cleanup.h"

enum {
	BENCHMARK_LIST,
	BENCHMARK_JSON,
	BENCHMARK_NUMPY,
	N_BENCHMARKS,
};

static bool has_numpy(const char *python)
{
	struct launch_result result;
	bool found;

	cr_assert_eq(launch_run(&(struct launch){.argv = WORDS(python, "-c", "import numpy")}, &result), 0);
	found = result.status == 0;
	launch_result_deinit(&result);
	return found;
}

static void run_benchmarks(
        const char *client, const char *name, const struct client_benchmark *benchmarks, bool has_map)
{
	CLEANUP_FREE char *folder = client_install(client);
	CLEANUP_FREE char *python = test_text("%s/venv/bin/python", folder);
	size_t n = has_numpy(python) ? N_BENCHMARKS : N_BENCHMARKS - 1;
	struct capture capture;

	client_run(&(struct capture_spec){.name = name,
	                   .argv = WORDS(
	                           python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "bench_memory.py"),
	                   .options = WORDS("--stack-budget", "65536"),
	                   .env = WORDS("PYTHONDONTWRITEBYTECODE=1"),
	                   .folder = folder},
	        &capture);
	client_must_have(&capture, "pytest-codspeed", benchmarks, n);
	for (size_t i = 0; i < n; i++)
		client_must_allocate(&capture, &benchmarks[i]);
	client_must_ignore(&capture, "python3");
	if (has_map)
		client_must_have_map(&capture);
	capture_deinit(&capture);
}

/* A bytearray of 7919 bytes has a block of 7920; a string of 1000 letters one of 1000, its end and the header
 * of the object. */
Test(pytest, three_benchmarks)
{
	static const struct client_benchmark benchmarks[N_BENCHMARKS] = {
	        [BENCHMARK_LIST] = {.uri = "bench_memory.py::test_list_building",
	                .size = 7920,
	                .n = 500,
	                .function = "PyByteArray_Resize",
	                .whole = true},
	        [BENCHMARK_JSON] = {.uri = "bench_memory.py::test_json",
	                .size = 1000 + 1 + 48,
	                .n = 300,
	                .function = "PyUnicode_",
	                .whole = true},
	        [BENCHMARK_NUMPY] = {.uri = "bench_memory.py::test_numpy",
	                .size = 5003,
	                .n = 200,
	                .function = "PyArray_NewFromDescr_int",
	                .whole = true},
	};

	run_benchmarks("pytest", "integration-pytest", benchmarks, false);
}

/* Here the integration names the functions of Python, calls each benchmark once before it measures it, and
 * the header of a string is smaller. */
Test(pytest, python_functions)
{
	static const struct client_benchmark benchmarks[N_BENCHMARKS] = {
	        [BENCHMARK_LIST] = {.uri = "bench_memory.py::test_list_building",
	                .size = 7920,
	                .n = 500,
	                .function = "py::build_list:",
	                .whole = true},
	        [BENCHMARK_JSON] = {.uri = "bench_memory.py::test_json",
	                .size = 1000 + 1 + 40,
	                .n = 300,
	                .function = "py::parse_text:",
	                .whole = true},
	        [BENCHMARK_NUMPY] = {.uri = "bench_memory.py::test_numpy",
	                .size = 5003,
	                .n = 200,
	                .function = "py::build_arrays:",
	                .whole = true},
	};

	run_benchmarks("pytest-perf", "integration-pytest-perf", benchmarks, true);
}
