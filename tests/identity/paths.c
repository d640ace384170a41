/* paths.c: unwinding every definition. */
#include "identity/paths.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

#include "identity/artifact.h"
#include "support/memory.h"
#include "util/cleanup.h"
#include "util/map64.h"

#define N_SHOWN 3

static void print_path(const struct call_path *path, const char *what)
{
	fprintf(stderr, "  %s: %zu frames, %s, %lu allocations\n", what, path->n_steps,
	        stack_end_text(path->end), (unsigned long)path->n_allocations);
	for (size_t i = 0; i < path->n_steps; i++)
		fprintf(stderr, "    %s+%lx\n", path->steps[i].module ? path->steps[i].module : "-",
		        (unsigned long)path->steps[i].place);
}

static int compare_paths(const struct call_path *a, const struct call_path *b)
{
	for (size_t i = 0; i < a->n_steps && i < b->n_steps; i++) {
		const struct path_step *x = &a->steps[i], *y = &b->steps[i];
		int order = strcmp(x->module ? x->module : "", y->module ? y->module : "");

		if (order != 0)
			return order;
		if (x->place != y->place)
			return x->place < y->place ? -1 : 1;
	}
	if (a->n_steps != b->n_steps)
		return a->n_steps < b->n_steps ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static uint64_t digest(const struct call_path *path)
{
	uint64_t value = path->end;

	for (size_t i = 0; i < path->n_steps; i++)
		value = map64_mix(value ^ map64_mix((uintptr_t)path->steps[i].module) ^ path->steps[i].place);
	return value;
}

/* The frames that are really there: of those at one address only the last, into which the others are inlined.
 */
static struct call_path collapse(const struct resolved_stack *stack)
{
	struct call_path path = {
	        .steps = test_alloc(stack->n_frames, sizeof(*path.steps)), .end = stack->end};

	for (size_t i = 0; i < stack->n_frames; i++) {
		const struct frame *frame = &stack->frames[i];

		if (!frame->inlined)
			path.steps[path.n_steps++] = (struct path_step){frame->module, frame->svma};
	}
	return path;
}

/* The index of a path, which it takes over. */
static size_t intern(struct paths *paths, struct call_path *path)
{
	uint64_t *slot;

	for (uint64_t key = digest(path);; key++) {
		slot = number_map_at(&paths->by_digest, key);
		cr_assert_not_null(slot);
		if (*slot == 0)
			break;
		if (compare_paths(&paths->paths[*slot - 1], path) == 0) {
			free(path->steps);
			return *slot - 1;
		}
	}
	paths->paths = test_grow(paths->paths, paths->n_paths, sizeof(*paths->paths));
	paths->paths[paths->n_paths++] = *path;
	*slot = paths->n_paths;
	return paths->n_paths - 1;
}

static void add_definition(struct paths *paths, const struct event *event)
{
	uint64_t *meaning = number_map_at(&paths->by_hash, event->stack.hash);
	struct resolved_stack stack;
	struct call_path path;
	size_t index;

	cr_assert_not_null(meaning);
	cr_assert_eq(resolver_resolve(paths->resolver, event, &stack), 0);
	path = collapse(&stack);
	index = intern(paths, &path);
	paths->n_definitions++;
	paths->n_by_end[stack.end]++;
	resolved_stack_deinit(&stack);
	if (*meaning == 0)
		*meaning = index + 1;
	if (*meaning == index + 1)
		return;
	if (paths->n_conflicts++ < N_SHOWN) {
		fprintf(stderr, "hash %lx of process %u means two paths:\n", (unsigned long)event->stack.hash,
		        event->pid);
		print_path(&paths->paths[*meaning - 1], "first");
		print_path(&paths->paths[index], "then");
	}
}

static void note_ends(void *context, const struct event *event)
{
	struct paths *paths = context;

	if (event->type == EVENT_EXEC || event->type == EVENT_EXIT)
		cr_assert_eq(resolver_end_image(paths->resolver, event->pid, event->timestamp), 0);
}

static void define(void *context, const struct event *event)
{
	if (event->type == EVENT_STACK_DEFINITION)
		add_definition(context, event);
}

/* Definitions may stand behind the events that name them. */
static void count_allocations(void *context, const struct event *event)
{
	struct paths *paths = context;
	uint64_t meaning =
	        event_is_allocation(event->type) ? number_map_get(&paths->by_hash, event->stack_hash) : 0;

	if (!event_is_allocation(event->type))
		return;
	cr_assert_neq(meaning, 0, "the hash %lx is not defined", (unsigned long)event->stack_hash);
	paths->paths[meaning - 1].n_allocations++;
	paths->n_allocations++;
}

void paths_read(const char *folder, struct paths *ret_paths)
{
	CLEANUP_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct paths paths = {0};

	cr_assert_geq(fd, 0, "no folder %s", folder);
	cr_assert_eq(resolver_new(fd, NULL, &paths.resolver), 0);
	artifact_each(folder, note_ends, &paths);
	artifact_each(folder, define, &paths);
	artifact_each(folder, count_allocations, &paths);
	/* Only the texts are needed from here on, and nothing that is read from the folder. */
	*ret_paths = paths;
}

size_t paths_n_broken(const struct paths *paths)
{
	size_t n = 0;

	for (size_t i = 0; i < paths->n_paths; i++)
		n += paths->paths[i].end != STACK_END_BASE;
	return n;
}

void paths_print(const struct paths *paths, const char *name, FILE *stream)
{
	fprintf(stream,
	        "%s: %lu allocations, %lu definitions, %zu hashes, %zu call paths (%zu broken), ratio %.3f, "
	        "%lu conflicts\n",
	        name, (unsigned long)paths->n_allocations, (unsigned long)paths->n_definitions,
	        paths->by_hash.n, paths->n_paths, paths_n_broken(paths),
	        (double)paths->by_hash.n / (double)paths->n_paths, (unsigned long)paths->n_conflicts);
	for (int i = 0; i < STACK_END_N; i++) {
		if (i != STACK_END_BASE && paths->n_by_end[i] > 0)
			fprintf(stream, "  %lu definitions: %s\n", (unsigned long)paths->n_by_end[i],
			        stack_end_text((enum stack_end)i));
	}
}

static int by_steps(const void *a, const void *b)
{
	return compare_paths(*(struct call_path *const *)a, *(struct call_path *const *)b);
}

static struct call_path **sorted(const struct paths *paths)
{
	struct call_path **list = test_alloc(paths->n_paths, sizeof(struct call_path *));

	for (size_t i = 0; i < paths->n_paths; i++)
		list[i] = &paths->paths[i];
	qsort(list, paths->n_paths, sizeof(struct call_path *), by_steps);
	return list;
}

size_t paths_n_different(const struct paths *a, const struct paths *b)
{
	CLEANUP_FREE struct call_path **x = sorted(a);
	CLEANUP_FREE struct call_path **y = sorted(b);
	size_t i = 0, k = 0, n = 0;

	while (i < a->n_paths || k < b->n_paths) {
		int order = i == a->n_paths ? 1 : k == b->n_paths ? -1 : compare_paths(x[i], y[k]);
		bool same = order == 0 && x[i]->n_allocations == y[k]->n_allocations;

		if (!same && n++ < N_SHOWN) {
			if (order <= 0)
				print_path(x[i], "first recording");
			if (order >= 0)
				print_path(y[k], "second recording");
		}
		i += order <= 0;
		k += order >= 0;
	}
	return n;
}

void paths_deinit(struct paths *paths)
{
	for (size_t i = 0; i < paths->n_paths; i++)
		free(paths->paths[i].steps);
	free(paths->paths);
	number_map_deinit(&paths->by_digest);
	number_map_deinit(&paths->by_hash);
	resolver_free(paths->resolver);
	*paths = (struct paths){0};
}
