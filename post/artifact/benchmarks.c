/* benchmarks.c: markers and URIs to windows. */
#include "artifact/benchmarks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact/cursor.h"
#include "util/string_pool.h"
#include "util/cleanup.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/map64.h"

#define MAX_FILE_BYTES (256u << 20)

struct marker {
	uint64_t time;
	size_t order;
	bool begin;
};

struct markers {
	struct marker *markers;
	size_t n, n_allocated;
};

struct named_time {
	uint64_t time;
	uint32_t benchmark;
};

struct parser {
	struct cursor cursor;
	struct benchmarks benchmarks;
	struct markers samples, rounds;
	struct named_time *times;
	size_t n_times, n_times_allocated;
	struct string_pool *uris;
	struct map64 index_by_uri; /* of `uris` → of `benchmarks` */
};

/* A string in the file. */
struct text {
	const uint8_t *bytes;
	size_t n;
};

static bool text_is(const struct text *text, const char *expected)
{
	return text->n == strlen(expected) && memcmp(text->bytes, expected, text->n) == 0;
}

static int add_marker(struct markers *markers, uint64_t time, bool begin)
{
	int error = GROW_BY_ONE(markers->markers, markers->n_allocated, markers->n);

	if (error < 0)
		return error;
	markers->markers[markers->n] = (struct marker){.time = time, .order = markers->n, .begin = begin};
	markers->n++;
	return 0;
}

/* One marker: a map with one entry. Sample markers and round markers are kept apart. */
static int read_marker(struct parser *parser)
{
	struct text kind;
	uint64_t n, time;

	if (cursor_map(&parser->cursor, &n) != CURSOR_OK || n != 1 ||
	        cursor_str(&parser->cursor, &kind.bytes, &kind.n) != CURSOR_OK ||
	        cursor_uint(&parser->cursor, &time) != CURSOR_OK)
		return -EBADMSG;
	if (text_is(&kind, "SampleStart") || text_is(&kind, "SampleEnd"))
		return add_marker(&parser->samples, time, text_is(&kind, "SampleStart"));
	if (text_is(&kind, "RoundStart") || text_is(&kind, "BenchmarkStart"))
		return add_marker(&parser->rounds, time, true);
	if (text_is(&kind, "RoundEnd") || text_is(&kind, "BenchmarkEnd"))
		return add_marker(&parser->rounds, time, false);
	return 0; /* a kind of a later version */
}

size_t benchmarks_find(const struct benchmarks *benchmarks, const char *uri)
{
	for (size_t i = 0; i < benchmarks->n_benchmarks; i++)
		if (strcmp(benchmarks->benchmarks[i].uri, uri) == 0)
			return i;
	return SIZE_MAX;
}

static int add_benchmark(struct parser *parser, struct text text, uint32_t *ret_index)
{
	struct benchmarks *benchmarks = &parser->benchmarks;
	CLEANUP_FREE char *uri = strndup((const char *)text.bytes, text.n);
	uint32_t id;
	int error;

	if (!uri)
		return -ENOMEM;
	error = string_pool_add(parser->uris, uri, &id);
	if (error < 0)
		return error;
	*ret_index = map64_find(&parser->index_by_uri, id);
	if (*ret_index != MAP64_NONE)
		return 0;
	*ret_index = (uint32_t)benchmarks->n_benchmarks;
	error = GROW_BY_ONE(
	        benchmarks->benchmarks, benchmarks->n_benchmarks_allocated, benchmarks->n_benchmarks);
	if (error < 0)
		return error;
	error = map64_set(&parser->index_by_uri, id, *ret_index);
	if (error < 0)
		return error;
	benchmarks->benchmarks[benchmarks->n_benchmarks++] = (struct benchmark){.uri = STEAL_PTR(uri)};
	return 0;
}

/* One `[timestamp, uri]`. */
static int read_uri(struct parser *parser)
{
	struct named_time named;
	struct text uri;
	uint64_t n;
	int error;

	if (cursor_array(&parser->cursor, &n) != CURSOR_OK || n != 2 ||
	        cursor_uint(&parser->cursor, &named.time) != CURSOR_OK ||
	        cursor_str(&parser->cursor, &uri.bytes, &uri.n) != CURSOR_OK)
		return -EBADMSG;
	error = add_benchmark(parser, uri, &named.benchmark);
	if (error < 0)
		return error;
	error = GROW_BY_ONE(parser->times, parser->n_times_allocated, parser->n_times);
	if (error < 0)
		return error;
	parser->times[parser->n_times++] = named;
	return 0;
}

static int compare_markers(const void *left, const void *right)
{
	const struct marker *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int compare_times(const void *left, const void *right)
{
	const struct named_time *a = left, *b = right;

	return a->time < b->time ? -1 : a->time > b->time;
}

/* The first URI that arrives at `time` or later; n_times: none. */
static size_t find_naming(const struct parser *parser, uint64_t time)
{
	size_t low = 0, high = parser->n_times, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (parser->times[middle].time < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_window(struct parser *parser, uint64_t begin, uint64_t end)
{
	struct benchmark_window window = {.begin = begin, .end = end};
	struct benchmarks *benchmarks = &parser->benchmarks;
	size_t naming = find_naming(parser, begin);
	struct benchmark *owner;
	int error = 0;

	if (naming < parser->n_times)
		window.benchmark = parser->times[naming].benchmark;
	else
		error = add_benchmark(parser, (struct text){(const uint8_t *)"", 0}, &window.benchmark);
	if (error < 0)
		return error;
	error = GROW_BY_ONE(benchmarks->windows, benchmarks->n_windows_allocated, benchmarks->n_windows);
	if (error < 0)
		return error;
	benchmarks->windows[benchmarks->n_windows++] = window;
	owner = &benchmarks->benchmarks[window.benchmark];
	owner->n_windows++;
	owner->duration += end == UINT64_MAX ? 0 : end - begin;
	return 0;
}

/* A start inside a window begins it anew: either what was begun before was never ended, its process having
 * died, or both the pipes' own start and the integration's are there, of which the inner one is closer. An
 * end outside a window says nothing new. */
static int make_windows(struct parser *parser)
{
	const struct markers *markers = parser->samples.n ? &parser->samples : &parser->rounds;
	bool open = false;
	uint64_t begin = 0;
	int error = 0;

	if (markers->n)
		qsort(markers->markers, markers->n, sizeof(*markers->markers), compare_markers);
	if (parser->n_times)
		qsort(parser->times, parser->n_times, sizeof(*parser->times), compare_times);
	for (size_t i = 0; i < markers->n && !error; i++) {
		const struct marker *marker = &markers->markers[i];

		if (marker->begin)
			begin = marker->time;
		else if (!marker->begin && open)
			error = add_window(parser, begin, marker->time);
		open = marker->begin;
	}
	return open && !error ? add_window(parser, begin, UINT64_MAX) : error;
}

static int read_array(struct parser *parser, int (*read_item)(struct parser *))
{
	uint64_t n;
	int error = 0;

	if (cursor_array(&parser->cursor, &n) != CURSOR_OK)
		return -EBADMSG;
	while (n-- && !error)
		error = read_item(parser);
	return error;
}

/* 0, -ENOMEM, or -EBADMSG where the file is not what it should be: what came before counts. */
static int read_root(struct parser *parser)
{
	struct text key;
	uint64_t n;
	int error = 0;

	if (cursor_map(&parser->cursor, &n) != CURSOR_OK)
		return -EBADMSG;
	while (n-- && !error) {
		if (cursor_str(&parser->cursor, &key.bytes, &key.n) != CURSOR_OK)
			return -EBADMSG;
		if (text_is(&key, "markers"))
			error = read_array(parser, read_marker);
		else if (text_is(&key, "uri_by_ts"))
			error = read_array(parser, read_uri);
		else if (cursor_skip(&parser->cursor) != CURSOR_OK)
			return -EBADMSG;
	}
	return error;
}

static int parse(struct parser *parser)
{
	int error = string_pool_new(&parser->uris);

	if (error < 0)
		return error;
	error = read_root(parser);
	if (error < 0 && error != -EBADMSG)
		return error;
	parser->benchmarks.broken = error < 0;
	return make_windows(parser);
}

int benchmarks_parse(const void *data, size_t n, struct benchmarks *ret_benchmarks)
{
	struct parser parser = {.cursor = {.at = data, .end = (const uint8_t *)data + n}};
	int error = parse(&parser);

	free(parser.samples.markers);
	free(parser.rounds.markers);
	free(parser.times);
	string_pool_free(parser.uris);
	map64_deinit(&parser.index_by_uri);
	if (error < 0)
		benchmarks_deinit(&parser.benchmarks);
	else
		*ret_benchmarks = parser.benchmarks;
	return error;
}

int benchmarks_read(int profile_fd, struct benchmarks *ret_benchmarks)
{
	CLEANUP_CLOSE int fd = openat(profile_fd, "results/ExecutionTimestamps.msgpack",
	        O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	CLEANUP_FREE char *data = NULL;
	struct stat info;
	ssize_t n;

	*ret_benchmarks = (struct benchmarks){0};
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &info) < 0)
		return -errno;
	if (!S_ISREG(info.st_mode) || info.st_size > MAX_FILE_BYTES) {
		ret_benchmarks->broken = true;
		return 0;
	}
	data = malloc((size_t)info.st_size + 1);
	if (!data)
		return -ENOMEM;
	n = file_read_up_to(fd, data, (size_t)info.st_size);
	return n < 0 ? (int)n : benchmarks_parse(data, (size_t)n, ret_benchmarks);
}

size_t benchmarks_at(const struct benchmarks *benchmarks, uint64_t time)
{
	size_t low = 0, high = benchmarks->n_windows, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (benchmarks->windows[middle].begin <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low && time < benchmarks->windows[low - 1].end ? benchmarks->windows[low - 1].benchmark
	                                                      : SIZE_MAX;
}

void benchmarks_deinit(struct benchmarks *benchmarks)
{
	for (size_t i = 0; i < benchmarks->n_benchmarks; i++)
		free(benchmarks->benchmarks[i].uri);
	free(benchmarks->benchmarks);
	free(benchmarks->windows);
	*benchmarks = (struct benchmarks){0};
}
