/* profile.c: two passes over the artifact: definitions and order first, then the heap. */
#include "report/profile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact/reader.h"
#include "heap/order.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map64.h"

#define FOLDER          "results/"
#define ARTIFACT_SUFFIX ".MemtrackArtifact.msgpack"

/* Events between two looks at the clock and the signal flag. */
#define EVENTS_PER_STEP 8192

/* What the passes share. */
struct load {
	const struct profile_options *options;
	struct profile *profile;
	int profile_fd;
	int artifact_fd;
	uint64_t artifact_bytes;
	struct heap_order *order;
	struct resolver *resolver; /* NULL: there is no usable metadata */
	struct map64 stack_by_hash;
	uint32_t no_stack, undefined_stack, unresolved_stack;
};

static int add_problem(struct profile *profile, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

static int add_problem(struct profile *profile, const char *format, ...)
{
	va_list arguments;
	char *text;
	int error, n;

	error = GROW_BY_ONE(profile->problems, profile->n_problems_allocated, profile->n_problems);
	if (error < 0)
		return error;
	va_start(arguments, format);
	n = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (n < 0)
		return -ENOMEM;
	profile->problems[profile->n_problems++] = text;
	return 0;
}

static bool is_artifact(const char *name)
{
	size_t n = strlen(name);

	return n > strlen(ARTIFACT_SUFFIX) &&
	       strcmp(name + n - strlen(ARTIFACT_SUFFIX), ARTIFACT_SUFFIX) == 0;
}

/* The first artifact by name, which the caller frees, and how many there are. */
static int find_artifact(int profile_fd, char **ret_name, size_t *ret_n)
{
	int fd = openat(profile_fd, "results", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSEDIR DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	CLEANUP_FREE char *first = NULL;
	const struct dirent *entry;
	size_t n = 0;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -ENODATA : -errno;
	if (!folder) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(folder))) {
		if (!is_artifact(entry->d_name))
			continue;
		n++;
		if (first && strcmp(first + strlen(FOLDER), entry->d_name) <= 0)
			continue;
		free(first);
		first = NULL;
		if (asprintf(&first, FOLDER "%s", entry->d_name) < 0) {
			first = NULL;
			return -ENOMEM;
		}
	}
	if (!n)
		return -ENODATA;
	*ret_name = STEAL_PTR(first);
	*ret_n = n;
	return 0;
}

static int open_artifact(struct load *load)
{
	CLEANUP_FREE char *name = NULL;
	struct stat info;
	size_t n = 0;
	int error = find_artifact(load->profile_fd, &name, &n);

	if (error < 0)
		return error;
	load->artifact_fd = openat(load->profile_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (load->artifact_fd < 0)
		return -errno;
	if (fstat(load->artifact_fd, &info) < 0)
		return -errno;
	if (!S_ISREG(info.st_mode))
		return -ENODATA;
	load->artifact_bytes = (uint64_t)info.st_size;
	if (n > 1)
		return add_problem(
		        load->profile, "the folder holds %zu artifacts; only %s was read", n, name);
	return 0;
}

static int step(const struct load *load, const char *what)
{
	const struct profile_options *options = load->options;
	off_t at = lseek(load->artifact_fd, 0, SEEK_CUR);
	unsigned thousandths = 0;

	if (!options->progress)
		return 0;
	if (at > 0 && load->artifact_bytes)
		thousandths = (unsigned)((double)at * 1000 / (double)load->artifact_bytes);
	return options->progress(options->progress_context, what, thousandths < 1000 ? thousandths : 1000);
}

/* Unwinds and names a definition; of a hash that is defined twice the first one counts. */
static int add_definition(struct load *load, const struct event *event)
{
	struct resolved_stack resolved;
	uint32_t stack;
	int error;

	load->profile->n_definitions++;
	if (map64_find(&load->stack_by_hash, event->stack.hash) != MAP64_NONE)
		return 0;
	load->profile->n_hashes++;
	if (!load->resolver)
		return map64_set(&load->stack_by_hash, event->stack.hash, load->unresolved_stack);
	error = resolver_resolve(load->resolver, event, &resolved);
	if (error < 0)
		return error;
	error = stacks_add(load->profile->stacks, &resolved, &stack);
	resolved_stack_deinit(&resolved);
	return error < 0 ? error : map64_set(&load->stack_by_hash, event->stack.hash, stack);
}

static int first_look(struct load *load, const struct event *event)
{
	struct profile *profile = load->profile;

	profile->n_events++;
	if (event->type == EVENT_STACK_DEFINITION)
		return add_definition(load, event);
	if (event->timestamp < profile->begin)
		profile->begin = event->timestamp;
	if (event->timestamp > profile->end)
		profile->end = event->timestamp;
	return heap_order_measure(load->order, event);
}

/* The stack of an allocation, or HEAP_NO_STACK where it is outside the chosen benchmark. */
static uint32_t choose_stack(struct load *load, const struct heap_row *row)
{
	struct profile *profile = load->profile;
	uint32_t stack;
	size_t benchmark;

	if (!event_is_allocation(row->kind))
		return HEAP_NO_STACK;
	benchmark = profile->benchmarks.n_windows ? benchmarks_at(&profile->benchmarks, row->time) : SIZE_MAX;
	if (benchmark != SIZE_MAX) {
		profile->benchmark_sums[benchmark].n_total++;
		profile->benchmark_sums[benchmark].total_bytes += row->size;
	}
	if (profile->benchmark != SIZE_MAX && benchmark != profile->benchmark)
		return HEAP_NO_STACK;
	if (!row->stack_hash) {
		profile->n_without_stack++;
		return load->no_stack;
	}
	stack = map64_find(&load->stack_by_hash, row->stack_hash);
	if (stack != MAP64_NONE)
		return stack;
	profile->n_undefined++;
	return load->undefined_stack;
}

static int apply_rows(struct load *load)
{
	struct heap_row row;
	int error = 0;

	while (!error && heap_order_next(load->order, &row))
		error = heap_paths_apply(load->profile->heap, &row, choose_stack(load, &row));
	return error;
}

static int second_look(struct load *load, const struct event *event)
{
	int error;

	if (event->type == EVENT_STACK_DEFINITION)
		return 0;
	error = heap_order_add(load->order, event);
	return error < 0 ? error : apply_rows(load);
}

static int note_state(struct load *load, const struct artifact_reader *reader, int state)
{
	struct profile *profile = load->profile;
	int error = 0;

	profile->n_unknown = artifact_reader_n_unknown(reader);
	profile->n_malformed = artifact_reader_n_malformed(reader);
	if (state != ARTIFACT_END)
		error = add_problem(profile, "the artifact is %s after %" PRIu64 " events: %s",
		        state == ARTIFACT_CUT ? "cut short" : "corrupt", profile->n_events,
		        artifact_reader_reason(reader));
	if (!error && profile->n_malformed)
		error = add_problem(profile, "%" PRIu64 " events could not be read", profile->n_malformed);
	return error;
}

/* One pass over the artifact. `note` makes what the reader found a problem of the profile. */
static int read_events(struct load *load, const char *what,
        int (*look)(struct load *load, const struct event *event), bool note)
{
	struct artifact_reader *reader;
	struct event event;
	uint64_t n = 0;
	int error, state;

	if (lseek(load->artifact_fd, 0, SEEK_SET) < 0)
		return -errno;
	error = artifact_reader_new(load->artifact_fd, &reader);
	if (error < 0)
		return error;
	while ((state = artifact_reader_next(reader, &event)) == ARTIFACT_EVENT) {
		error = look(load, &event);
		if (!error && n++ % EVENTS_PER_STEP == 0)
			error = step(load, what);
		if (error < 0)
			break;
	}
	if (!error && state < 0)
		error = state;
	if (!error && note)
		error = note_state(load, reader, state);
	artifact_reader_free(reader);
	return error;
}

static int make_stacks(struct load *load)
{
	struct stacks *stacks;
	int error = stacks_new(load->profile->strings, load->options->fold, &load->profile->stacks);

	if (error < 0)
		return error;
	stacks = load->profile->stacks;
	error = stacks_add_made_up(stacks, "[no stack recorded]", &load->no_stack);
	if (!error)
		error = stacks_add_made_up(stacks, "[stack named but never defined]", &load->undefined_stack);
	if (!error)
		error = stacks_add_made_up(
		        stacks, "[stack without usable metadata]", &load->unresolved_stack);
	return error;
}

/* Without metadata there are still counts, so its absence is a problem, not the end. */
static int read_metadata(struct load *load)
{
	struct profile *profile = load->profile;
	int error = facts_read(load->profile_fd, &profile->facts);
	uint64_t n_lost;

	if (error == -ENOMEM)
		return error;
	if (error < 0)
		return add_problem(profile,
		        "memory_metadata.json cannot be read (%s): no names of functions and processes",
		        error == -EBADMSG ? "not a JSON object" : strerror(-error));
	n_lost = facts_n_lost(&profile->facts);
	if (n_lost)
		error = add_problem(profile, "%" PRIu64 " events were lost while recording", n_lost);
	if (error < 0)
		return error;
	error = resolver_new(load->profile_fd, load->options->log, &load->resolver);
	if (!error && load->options->max_depth)
		resolver_set_max_depth(load->resolver, load->options->max_depth);
	if (error < 0 && error != -ENOMEM) {
		load->resolver = NULL;
		return add_problem(profile, "memory_metadata.json cannot be used (%s): no names of functions",
		        strerror(-error));
	}
	return error;
}

static int read_benchmarks(struct load *load)
{
	struct profile *profile = load->profile;
	const char *uri = load->options->benchmark;
	int error = benchmarks_read(load->profile_fd, &profile->benchmarks);

	if (error == -ENOMEM)
		return error;
	if (error < 0 || profile->benchmarks.broken)
		error = add_problem(profile, "results/ExecutionTimestamps.msgpack cannot be read whole");
	if (error < 0)
		return error;
	profile->benchmark = uri ? benchmarks_find(&profile->benchmarks, uri) : SIZE_MAX;
	if (uri && profile->benchmark == SIZE_MAX)
		return -ENOKEY;
	profile->benchmark_sums =
	        calloc(profile->benchmarks.n_benchmarks + 1, sizeof(*profile->benchmark_sums));
	return profile->benchmark_sums ? 0 : -ENOMEM;
}

static int sum_up(struct profile *profile)
{
	size_t i, n = heap_paths_n_sites(profile->heap);
	const struct heap_site *site;
	uint32_t path;

	profile->stack_tallies = calloc(stacks_count(profile->stacks) + 1, sizeof(*profile->stack_tallies));
	profile->path_tallies = calloc(stacks_n_paths(profile->stacks) + 1, sizeof(*profile->path_tallies));
	if (!profile->stack_tallies || !profile->path_tallies)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		site = heap_paths_site(profile->heap, i);
		path = stacks_row(profile->stacks, site->stack)->path;
		heap_tally_add(&profile->stack_tallies[site->stack], &site->tally);
		heap_tally_add(&profile->path_tallies[path], &site->tally);
		heap_tally_add(&profile->sum, &site->tally);
	}
	for (i = 0; i < stacks_n_paths(profile->stacks); i++)
		profile->n_paths += profile->path_tallies[i].n_total != 0;
	return 0;
}

static int read_artifact(struct load *load)
{
	struct profile *profile = load->profile;
	uint64_t n_forced;
	int error = read_events(load, "reading call stacks", first_look, true);

	if (error < 0)
		return error;
	if (profile->begin > profile->end)
		profile->begin = profile->end = 0; /* there was no event */
	error = heap_paths_new(stacks_count(profile->stacks), profile->begin, profile->end, &profile->heap);
	if (error < 0)
		return error;
	heap_order_begin(load->order);
	error = read_events(load, "replaying the heap", second_look, false);
	if (error < 0)
		return error;
	heap_order_end(load->order);
	error = apply_rows(load);
	if (error < 0)
		return error;
	n_forced = heap_order_n_forced(load->order);
	if (n_forced)
		error = add_problem(
		        profile, "%" PRIu64 " events were too far out of order to be sorted in", n_forced);
	heap_paths_finish(profile->heap, profile->end);
	return error < 0 ? error : sum_up(profile);
}

static int load_all(struct load *load)
{
	int error = open_artifact(load);

	if (!error)
		error = make_stacks(load);
	if (!error)
		error = read_metadata(load);
	if (!error)
		error = read_benchmarks(load);
	if (!error)
		error = heap_order_new(&load->order);
	return error < 0 ? error : read_artifact(load);
}

int profile_load(const char *path, const struct profile_options *options, struct string_pool *strings,
        struct profile **ret_profile)
{
	CLEANUP_CLOSE int profile_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct load load = {.options = options, .profile_fd = profile_fd, .artifact_fd = -1};
	int error;

	if (profile_fd < 0)
		return -errno;
	load.profile = calloc(1, sizeof(*load.profile));
	if (!load.profile)
		return -ENOMEM;
	*load.profile = (struct profile){
	        .path = strdup(path), .strings = strings, .benchmark = SIZE_MAX, .begin = UINT64_MAX};
	error = load.profile->path ? load_all(&load) : -ENOMEM;
	heap_order_free(load.order);
	resolver_free(load.resolver);
	map64_deinit(&load.stack_by_hash);
	if (load.artifact_fd >= 0)
		close(load.artifact_fd);
	if (error < 0)
		profile_free(load.profile);
	else
		*ret_profile = load.profile;
	return error;
}

struct profile *profile_free(struct profile *profile)
{
	if (!profile)
		return NULL;
	for (size_t i = 0; i < profile->n_problems; i++)
		free(profile->problems[i]);
	free(profile->problems);
	heap_paths_free(profile->heap);
	stacks_free(profile->stacks);
	facts_deinit(&profile->facts);
	benchmarks_deinit(&profile->benchmarks);
	free(profile->benchmark_sums);
	free(profile->stack_tallies);
	free(profile->path_tallies);
	free(profile->path);
	free(profile);
	return NULL;
}
