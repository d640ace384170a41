/* artifact.c: the artifact, event by event, and the figures beside it. */
#include "identity/artifact.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <string.h>

#include "artifact/reader.h"
#include "support/memory.h"
#include "util/cleanup.h"

#define SUFFIX ".MemtrackArtifact.msgpack"

char *artifact_path(const char *folder)
{
	CLEANUP_FREE char *results = test_text("%s/results", folder);
	CLEANUP_CLOSEDIR DIR *listing = opendir(results);

	for (struct dirent *entry; listing && (entry = readdir(listing));) {
		size_t n = strlen(entry->d_name);

		if (n > strlen(SUFFIX) && strcmp(entry->d_name + n - strlen(SUFFIX), SUFFIX) == 0)
			return test_text("%s/%s", results, entry->d_name);
	}
	return NULL;
}

static int open_artifact(const char *folder)
{
	CLEANUP_FREE char *path = artifact_path(folder);

	return path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static enum artifact_state read_events(
        int fd, void (*visit)(void *context, const struct event *event), void *context, size_t *ret_n)
{
	struct artifact_reader *reader;
	struct event event;
	size_t n = 0;
	int state;

	cr_assert_eq(artifact_reader_new(fd, &reader), 0);
	while ((state = artifact_reader_next(reader, &event)) == ARTIFACT_EVENT) {
		n++;
		if (visit)
			visit(context, &event);
	}
	cr_assert_geq(state, 0, "reading the artifact: %s", strerror(-state));
	cr_assert_eq(artifact_reader_n_malformed(reader), 0);
	cr_assert_eq(artifact_reader_n_unknown(reader), 0);
	artifact_reader_free(reader);
	*ret_n = n;
	return (enum artifact_state)state;
}

void artifact_each(const char *folder, void (*visit)(void *context, const struct event *event), void *context)
{
	CLEANUP_CLOSE int fd = open_artifact(folder);
	size_t n;

	cr_assert_geq(fd, 0, "no artifact in %s", folder);
	cr_assert_eq(read_events(fd, visit, context, &n), ARTIFACT_END);
}

struct ordering {
	struct heap_order *order;
	void (*visit)(void *context, const struct heap_row *row);
	void *context;
};

static void measure(void *context, const struct event *event)
{
	struct ordering *ordering = context;

	cr_assert_eq(heap_order_measure(ordering->order, event), 0);
}

static void give_rows(const struct ordering *ordering)
{
	struct heap_row row;

	while (heap_order_next(ordering->order, &row))
		ordering->visit(ordering->context, &row);
}

static void put_in_order(void *context, const struct event *event)
{
	struct ordering *ordering = context;

	cr_assert_eq(heap_order_add(ordering->order, event), 0);
	give_rows(ordering);
}

void artifact_each_row(
        const char *folder, void (*visit)(void *context, const struct heap_row *row), void *context)
{
	struct ordering ordering = {.visit = visit, .context = context};

	cr_assert_eq(heap_order_new(&ordering.order), 0);
	artifact_each(folder, measure, &ordering);
	heap_order_begin(ordering.order);
	artifact_each(folder, put_in_order, &ordering);
	heap_order_end(ordering.order);
	give_rows(&ordering);
	cr_assert_eq(heap_order_n_forced(ordering.order), 0);
	heap_order_free(ordering.order);
}

size_t artifact_each_to_cut(
        const char *folder, void (*visit)(void *context, const struct event *event), void *context)
{
	CLEANUP_CLOSE int fd = open_artifact(folder);
	enum artifact_state state;
	size_t n;

	if (fd < 0)
		return 0;
	state = read_events(fd, visit, context, &n);
	cr_assert(state == ARTIFACT_END || state == ARTIFACT_CUT, "the artifact is corrupt");
	return n;
}

uint64_t artifact_figure(const char *folder, const char *name)
{
	CLEANUP_FREE char *path = test_text("%s/summary.json", folder);
	struct json_object *summary = json_object_from_file(path), *figures, *figure;
	uint64_t value;

	cr_assert_not_null(summary, "no %s", path);
	cr_assert(json_object_object_get_ex(summary, "figures", &figures));
	cr_assert(json_object_object_get_ex(figures, name, &figure), "%s has no %s", path, name);
	value = json_object_get_uint64(figure);
	json_object_put(summary);
	return value;
}
