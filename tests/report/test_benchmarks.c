/* test_benchmarks.c: markers and URIs. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/benchmarks.h"

static void pack_text(msgpack_packer *packer, const char *text)
{
	msgpack_pack_str(packer, strlen(text));
	msgpack_pack_str_body(packer, text, strlen(text));
}

/* `markers`: S, E, s (round start), e per time; `uris`: a letter per time. */
static msgpack_sbuffer pack(
        const char *markers, const uint64_t *times, const char *uris, const uint64_t *uri_times)
{
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	char uri[8] = "uri-?";

	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	msgpack_pack_map(&packer, 3);
	pack_text(&packer, "markers");
	msgpack_pack_array(&packer, strlen(markers));
	for (size_t i = 0; markers[i]; i++) {
		msgpack_pack_map(&packer, 1);
		pack_text(&packer, markers[i] == 'S'   ? "SampleStart"
		                   : markers[i] == 'E' ? "SampleEnd"
		                   : markers[i] == 's' ? "RoundStart"
		                                       : "BenchmarkEnd");
		msgpack_pack_uint64(&packer, times[i]);
	}
	pack_text(&packer, "of a later version");
	msgpack_pack_array(&packer, 1);
	msgpack_pack_nil(&packer);
	pack_text(&packer, "uri_by_ts");
	msgpack_pack_array(&packer, strlen(uris));
	for (size_t i = 0; uris[i]; i++) {
		uri[4] = uris[i];
		msgpack_pack_array(&packer, 2);
		msgpack_pack_uint64(&packer, uri_times[i]);
		pack_text(&packer, uri);
	}
	return buffer;
}

static struct benchmarks parsed(
        const char *markers, const uint64_t *times, const char *uris, const uint64_t *uri_times)
{
	msgpack_sbuffer buffer = pack(markers, times, uris, uri_times);
	struct benchmarks benchmarks;

	cr_assert_eq(benchmarks_parse(buffer.data, buffer.size, &benchmarks), 0);
	msgpack_sbuffer_destroy(&buffer);
	return benchmarks;
}

/* The URI arrives after the benchmark ran; one may run several times. */
Test(benchmarks, windows_belong_to_the_next_uri)
{
	struct benchmarks benchmarks = parsed("SESESESE", (const uint64_t[]){10, 20, 30, 40, 50, 60, 70, 80},
	        "aba", (const uint64_t[]){25, 45, 65});
	size_t a = benchmarks_find(&benchmarks, "uri-a"), b = benchmarks_find(&benchmarks, "uri-b");

	cr_assert(!benchmarks.broken);
	cr_assert_eq(benchmarks.n_benchmarks, 3);
	cr_assert_eq(benchmarks_at(&benchmarks, 9), SIZE_MAX);
	cr_assert_eq(benchmarks_at(&benchmarks, 10), a);
	cr_assert_eq(benchmarks_at(&benchmarks, 19), a);
	cr_assert_eq(benchmarks_at(&benchmarks, 20), SIZE_MAX);
	cr_assert_eq(benchmarks_at(&benchmarks, 35), b);
	cr_assert_eq(benchmarks_at(&benchmarks, 59), a);
	cr_assert_eq(benchmarks_at(&benchmarks, 75), benchmarks_find(&benchmarks, "")); /* never named */
	cr_assert_eq(benchmarks.benchmarks[a].n_windows, 2);
	cr_assert_eq(benchmarks.benchmarks[a].duration, 20);
	benchmarks_deinit(&benchmarks);
}

Test(benchmarks, odd_markers)
{
	/* An end without a start; nested as by the pipes and by the integration; a start that a later one
	 * supersedes, out of order; a window without an end reaches to the end of the recording. */
	struct benchmarks benchmarks = parsed(
	        "ESSEESS", (const uint64_t[]){1, 10, 11, 19, 20, 40, 39}, "x", (const uint64_t[]){100});
	size_t x = benchmarks_find(&benchmarks, "uri-x");

	cr_assert_eq(benchmarks.n_windows, 2);
	cr_assert_eq(benchmarks_at(&benchmarks, 5), SIZE_MAX);
	cr_assert_eq(benchmarks_at(&benchmarks, 10), SIZE_MAX);
	cr_assert_eq(benchmarks_at(&benchmarks, 11), x);
	cr_assert_eq(benchmarks_at(&benchmarks, 18), x);
	cr_assert_eq(benchmarks_at(&benchmarks, 19), SIZE_MAX);
	cr_assert_eq(benchmarks_at(&benchmarks, 39), SIZE_MAX);
	cr_assert_eq(benchmarks_at(&benchmarks, 40), x);
	cr_assert_eq(benchmarks_at(&benchmarks, UINT64_MAX - 1), x);
	benchmarks_deinit(&benchmarks);
}

/* Rounds are the windows where there are no samples, and nothing where there are. */
Test(benchmarks, rounds)
{
	struct benchmarks benchmarks = parsed("se", (const uint64_t[]){10, 20}, "r", (const uint64_t[]){30});

	cr_assert_eq(benchmarks_at(&benchmarks, 15), benchmarks_find(&benchmarks, "uri-r"));
	benchmarks_deinit(&benchmarks);
	benchmarks = parsed("SseE", (const uint64_t[]){5, 10, 20, 25}, "r", (const uint64_t[]){30});
	cr_assert_eq(benchmarks.n_windows, 1);
	cr_assert_eq(benchmarks_at(&benchmarks, 7), benchmarks_find(&benchmarks, "uri-r"));
	benchmarks_deinit(&benchmarks);
}

/* Cut at every byte and with every byte changed: no crash (a sanitizer run sees more), and a cut is noticed.
 */
Test(benchmarks, damaged)
{
	const uint64_t times[] = {10, 20, 30, 40000};
	msgpack_sbuffer buffer = pack("SESE", times, "ab", (const uint64_t[]){25, 50000});
	struct benchmarks benchmarks;
	char *copy = malloc(buffer.size);

	for (size_t n = 0; n < buffer.size; n++) {
		memcpy(copy, buffer.data, n);
		cr_assert_eq(benchmarks_parse(copy, n, &benchmarks), 0);
		cr_assert(benchmarks.broken, "cut at %zu", n);
		benchmarks_deinit(&benchmarks);
	}
	for (size_t at = 0; at < buffer.size; at++) {
		for (unsigned byte = 0; byte < 256; byte++) {
			memcpy(copy, buffer.data, buffer.size);
			copy[at] = (char)byte;
			cr_assert_eq(benchmarks_parse(copy, buffer.size, &benchmarks), 0);
			benchmarks_deinit(&benchmarks);
		}
	}
	free(copy);
	msgpack_sbuffer_destroy(&buffer);
}

Test(benchmarks, no_file)
{
	struct benchmarks benchmarks;
	int fd = open("/proc/self", O_RDONLY | O_DIRECTORY);

	cr_assert_eq(benchmarks_read(fd, &benchmarks), 0);
	cr_assert_eq(benchmarks.n_benchmarks, 0);
	cr_assert_eq(benchmarks_find(&benchmarks, "x"), SIZE_MAX);
	cr_assert_eq(benchmarks_at(&benchmarks, 0), SIZE_MAX);
	close(fd);
}
