/* client.c: installing integrations, running them, and reading what memstacks reports of them. */
#include "integration/client.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <inttypes.h>
#include <json.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"
#include "util/cleanup.h"

#define INSTALL_TIMEOUT 420
#define SKIPPED         77

/* The last line of a text, which loses its newlines there. */
static const char *last_line(char *text)
{
	char *end = text + strlen(text);
	char *line;

	while (end > text && end[-1] == '\n')
		*--end = '\0';
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

char *client_install(const char *name)
{
	CLEANUP_FREE char *script =
	        test_text("%s/tests/integration/install", capture_env("MEMSTACKS_SOURCE"));
	CLEANUP_FREE char *parent = test_text("%s/integration", capture_env("MEMSTACKS_BUILD"));
	char *folder = test_text("%s/%s", parent, name);
	struct launch_result result;

	capture_need_rights();
	cr_assert_eq(
	        launch_run(&(struct launch){.argv = WORDS(script, name, folder), .timeout = INSTALL_TIMEOUT},
	                &result),
	        0);
	if (result.timed_out)
		cr_skip_test("%s: installing it took too long", name);
	if (result.status == SKIPPED)
		cr_skip_test("%s: %s", name, last_line(result.err));
	cr_assert_eq(result.status, 0, "%s: status %d\n%s", name, result.status, result.err);
	launch_result_deinit(&result);
	return folder;
}

void client_run(const struct capture_spec *spec, struct capture *ret_capture)
{
	capture_run(spec, ret_capture);
	capture_must_be_whole(ret_capture, 0);
}

/* What `memstacks report --json` says of the whole or of one benchmark. */
static json_object *report(const struct capture *capture, const char *uri)
{
	const char *words[] = {capture_env("MEMSTACKS_PROGRAM"), "report", "--quiet", "--json", "--no-fold",
	        "--top", "0", capture->folder, uri ? "--benchmark" : NULL, uri, NULL};
	struct launch_result result;
	json_object *object;

	cr_assert_eq(launch_run(&(struct launch){.argv = words}, &result), 0);
	cr_assert_eq(result.status, 0, "memstacks: status %d\n%s", result.status, result.err);
	object = json_tokener_parse(result.out);
	cr_assert_not_null(object, "not JSON: %.200s", result.out);
	launch_result_deinit(&result);
	return object;
}

static json_object *member(json_object *object, const char *key)
{
	json_object *value = NULL;

	cr_assert(json_object_object_get_ex(object, key, &value), "no member %s", key);
	return value;
}

static uint64_t number(json_object *object, const char *key)
{
	return json_object_get_uint64(member(object, key));
}

static void must_have_benchmark(json_object *benchmarks, const char *uri)
{
	for (size_t i = 0; i < json_object_array_length(benchmarks); i++) {
		json_object *benchmark = json_object_array_get_idx(benchmarks, i);

		if (strcmp(json_object_get_string(member(benchmark, "uri")), uri) == 0) {
			cr_assert_eq(number(benchmark, "samples"), 1, "%s: measured once", uri);
			return;
		}
	}
	cr_assert_fail("no benchmark %s in %s", uri, json_object_to_json_string(benchmarks));
}

void client_must_have(const struct capture *capture, const char *integration,
        const struct client_benchmark *benchmarks, size_t n_benchmarks)
{
	json_object *object = report(capture, NULL);
	json_object *list = member(object, "benchmarks");

	cr_assert_str_eq(json_object_get_string(member(object, "integration")), integration);
	for (size_t i = 0; i < n_benchmarks; i++)
		must_have_benchmark(list, benchmarks[i].uri);
	cr_assert_eq(json_object_array_length(list), n_benchmarks, "%s", json_object_to_json_string(list));
	json_object_put(object);
}

static bool is_on_path(json_object *path, const char *function)
{
	json_object *frames = member(path, "frames");

	for (size_t i = 0; i < json_object_array_length(frames); i++) {
		json_object *name = member(json_object_array_get_idx(frames, i), "function");

		if (strstr(json_object_get_string(name), function))
			return true;
	}
	return false;
}

/* Allocations of that size; those on paths without the function are counted too in *ret_astray. A path whose
 * allocations have several sizes is not one of them. */
static uint64_t count_size(json_object *paths, const struct client_benchmark *benchmark, uint64_t *ret_astray)
{
	uint64_t n = 0, n_astray = 0;

	for (size_t i = 0; i < json_object_array_length(paths); i++) {
		json_object *path = json_object_array_get_idx(paths, i);
		uint64_t count = number(path, "count");

		if (!count || number(path, "total") != count * benchmark->size)
			continue;
		n += count;
		if (!is_on_path(path, benchmark->function)) {
			fprintf(stderr, "%s: without %s: %s\n", benchmark->uri, benchmark->function,
			        json_object_to_json_string(member(path, "frames")));
			n_astray += count;
		}
	}
	*ret_astray = n_astray;
	return n;
}

void client_must_allocate(const struct capture *capture, const struct client_benchmark *benchmark)
{
	json_object *object = report(capture, benchmark->uri);
	json_object *sum = member(object, "sum");
	uint64_t astray;
	uint64_t n = count_size(member(object, "call-paths"), benchmark, &astray);
	const char *what = benchmark->uri ? benchmark->uri : "the process";

	cr_assert_eq(n, benchmark->n, "%s: %" PRIu64 " allocations of %" PRIu64 " bytes, not %" PRIu64, what,
	        n, benchmark->size, benchmark->n);
	cr_assert_eq(astray, 0, "%s: %" PRIu64 " of them without %s", what, astray, benchmark->function);
	if (benchmark->n_all)
		cr_assert_eq(number(sum, "count"), benchmark->n_all, "%s: %" PRIu64 " allocations", what,
		        number(sum, "count"));
	if (benchmark->whole)
		cr_assert_eq(number(member(object, "allocations-by-stack"), "whole"), number(sum, "count"),
		        "%s", json_object_to_json_string(member(object, "allocations-by-stack")));
	json_object_put(object);
}

void client_must_have_map(const struct capture *capture)
{
	CLEANUP_FREE char *pattern = test_text("%s/perf-[0-9]*.map", capture->folder);
	glob_t found;

	cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "no %s", pattern);
	globfree(&found);
}

/* Whether one of the ranges [path, start, end] is of such a file. */
static bool has_range(json_object *ranges, const char *part)
{
	for (size_t i = 0; i < json_object_array_length(ranges); i++) {
		json_object *range = json_object_array_get_idx(ranges, i);
		uint64_t start = json_object_get_uint64(json_object_array_get_idx(range, 1));
		uint64_t end = json_object_get_uint64(json_object_array_get_idx(range, 2));

		if (strstr(json_object_get_string(json_object_array_get_idx(range, 0)), part) && start < end)
			return true;
	}
	return false;
}

void client_must_ignore(const struct capture *capture, const char *part)
{
	CLEANUP_FREE char *path = test_text("%s/memory_metadata.json", capture->folder);
	json_object *metadata = json_object_from_file(path);
	bool found = false;

	cr_assert_not_null(metadata, "cannot read %s", path);
	json_object_object_foreach(member(metadata, "ignored_modules_by_pid"), pid, ranges)
	{
		(void)pid;
		found = found || has_range(ranges, part);
	}
	cr_assert(found, "no range of %s in %s", part,
	        json_object_to_json_string(member(metadata, "ignored_modules_by_pid")));
	json_object_put(metadata);
}
