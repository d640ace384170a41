/* Proves that the stacks of recorded fixtures are what they were when last reviewed: with the C library's
 * allocator, jemalloc and mimalloc. Each case has a file in snapshots/; with SNAPSHOTS_UPDATE=1 the files are
 * written anew. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/reader.h"
#include "fixtures/take.h"
#include "folder.h"
#include "resolve/resolver.h"
#include "support/machine.h"
#include "util/cleanup.h"

#define MAX_TAKES 4

struct takes {
	uint64_t hashes[MAX_TAKES]; /* of the last allocation with each number; 0: none */
	char *stacks[MAX_TAKES];
	const char *program;
};

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The program's own frames by name; of others the allocator's function, and else only whose they are:
 * libraries change from one update of the system to the next. */
static char *describe(const struct resolved_stack *stack, const char *program)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *previous = "";

	for (size_t i = 0; i < stack->n_frames; i++) {
		const struct frame *frame = &stack->frames[i];
		const char *module = frame->module ? last_component(frame->module) : "generated code";

		if (strcmp(module, program) == 0)
			fprintf(out, "  %s%s\n", frame->function ? frame->function : "?",
			        frame->inlined ? " (inlined)" : "");
		else if (i == 0)
			fprintf(out, "  %s [%s]\n", frame->function ? frame->function : "?", module);
		else if (strcmp(module, previous) != 0)
			fprintf(out, "  [%s]\n", module);
		previous = module;
	}
	fprintf(out, "  %s%s\n", stack_end_text(stack->end), stack->stitched ? ", stitched" : "");
	fclose(out);
	return text;
}

static void read_artifact(struct resolver *resolver, const char *path, struct takes *takes)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct artifact_reader *reader;
	struct event event;

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(artifact_reader_new(fd, &reader), 0);
	while (artifact_reader_next(reader, &event) == ARTIFACT_EVENT) {
		if (event_is_allocation(event.type) && event.size >= TAKE_FIRST_SIZE &&
		        event.size < TAKE_FIRST_SIZE + MAX_TAKES)
			takes->hashes[event.size - TAKE_FIRST_SIZE] = event.stack_hash;
		for (size_t i = 0; resolver && event.type == EVENT_STACK_DEFINITION && i < MAX_TAKES; i++) {
			struct resolved_stack stack;

			if (takes->hashes[i] != event.stack.hash || takes->stacks[i])
				continue;
			cr_assert_eq(resolver_resolve(resolver, &event, &stack), 0);
			takes->stacks[i] = describe(&stack, takes->program);
			resolved_stack_deinit(&stack);
		}
	}
	artifact_reader_free(reader);
}

/* What the fixture with generated code leaves where recordings look for such maps. */
static void remove_map(const char *artifact)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%lu.map", strtoul(artifact, NULL, 10));
	unlink(path);
}

static char *decode(const struct folder *folder, const char *program)
{
	struct takes takes = {.program = program};
	struct resolver *resolver;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int status;
	char *path = shell(&status, "ls '%s'/results/*.MemtrackArtifact.msgpack", folder->path);

	path[strcspn(path, "\n")] = '\0';
	remove_map(last_component(path));
	cr_assert_eq(resolver_new(folder->fd, NULL, &resolver), 0);
	read_artifact(NULL, path, &takes);
	read_artifact(resolver, path, &takes);
	for (size_t i = 0; i < MAX_TAKES; i++) {
		if (takes.hashes[i])
			fprintf(out, "allocation %zu\n%s", i,
			        takes.stacks[i] ? takes.stacks[i] : "  no stack\n");
		free(takes.stacks[i]);
	}
	fclose(out);
	resolver_free(resolver);
	free(path);
	return text;
}

static void compare(const char *name, const char *text)
{
	char path[512];
	CLEANUP_FCLOSE FILE *file = NULL;
	CLEANUP_FREE char *expected = calloc(1, 65536);

	snprintf(path, sizeof(path), "%s/%s.txt", SNAPSHOTS, name);
	if (getenv("SNAPSHOTS_UPDATE")) {
		file = fopen(path, "w");
		cr_assert_not_null(file);
		fputs(text, file);
		return;
	}
	file = fopen(path, "r");
	cr_assert_not_null(file, "%s is missing: run with SNAPSHOTS_UPDATE=1 and review it", path);
	cr_assert_gt(fread(expected, 1, 65535, file), 0);
	cr_expect_str_eq(text, expected, "%s changed; it was:\n%s\nand is:\n%s", path, expected, text);
}

static void run_case(const char *name, const char *fixture, const char *library)
{
	const char *reason = machine_why_no_capture();
	struct folder folder;
	char program[64], *output, *text;
	int status;

	if (reason)
		cr_skip_test("%s", reason);
	if (library && access(library, R_OK) != 0)
		cr_skip_test("%s is not installed", library);
	folder = folder_new();
	snprintf(program, sizeof(program), "stack-%s", fixture);
	output = shell(&status,
	        "PERF_MAP_FOLDER=/tmp '%s' --instrument memory --experimental-stacks --quiet "
	        "--profile-folder '%s' -- env "
	        "LD_PRELOAD='%s' '%s/%s' 2>&1",
	        getenv("MEMSTACKS_RUNNER"), folder.path, library ? library : "", getenv("STACK_FIXTURES"),
	        program);
	cr_assert_eq(status, 0, "%s: status %d\n%s", fixture, status, output);
	text = decode(&folder, program);
	compare(name, text);
	free(text);
	free(output);
	folder_remove(&folder);
}

#define LIBRARY(name) "/usr/lib/x86_64-linux-gnu/" name
#define SNAPSHOT(test, ...)                                                                                  \
	Test(snapshots, test, .timeout = 120)                                                                \
	{                                                                                                    \
		run_case(#test, __VA_ARGS__);                                                                \
	}

SNAPSHOT(recursion, "recursion", NULL)
SNAPSHOT(recursion_static, "recursion-static", NULL)
SNAPSHOT(recursion_lld, "recursion-lld", NULL)
SNAPSHOT(recursion_musl, "recursion-musl", NULL)
SNAPSHOT(recursion_musl_static, "recursion-musl-static", NULL)
SNAPSHOT(exceptions, "exceptions", NULL)
SNAPSHOT(callbacks, "callbacks", NULL)
SNAPSHOT(signals, "signals", NULL)
SNAPSHOT(odd_frames, "odd-frames", NULL)
SNAPSHOT(threads, "threads", NULL)
SNAPSHOT(generated, "generated", NULL)
SNAPSHOT(inlines, "inlines", NULL)
SNAPSHOT(exceptions_jemalloc, "exceptions", LIBRARY("libjemalloc.so.2"))
SNAPSHOT(callbacks_jemalloc, "callbacks", LIBRARY("libjemalloc.so.2"))
SNAPSHOT(threads_jemalloc, "threads", LIBRARY("libjemalloc.so.2"))
SNAPSHOT(exceptions_mimalloc, "exceptions", LIBRARY("libmimalloc.so.2"))
SNAPSHOT(callbacks_mimalloc, "callbacks", LIBRARY("libmimalloc.so.2"))
SNAPSHOT(threads_mimalloc, "threads", LIBRARY("libmimalloc.so.2"))
