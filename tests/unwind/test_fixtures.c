/* Proves that the stacks of programs with known call paths are exactly those paths, whatever way the programs
 * are compiled and linked, and that gdb sees the same. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures/take.h"
#include "folder.h"
#include "witness.h"

#define MAX_PATHS 4
#define MAX_NAMES 512

struct call_path {
	/* From the allocator's caller to main or to where the thread starts, divided by " < ". "name*n"
	 * stands for n frames, "?" for any. */
	const char *names;
	enum stack_end end;
	bool stitched;
	bool beyond_gdb; /* gdb does not see how the stack goes on, or goes on where there is nothing */
	size_t n_seen;
};

struct expectations {
	const char *program;
	struct call_path *paths;
	size_t n_paths;
};

/* The path as a list of names; returns their number. */
static size_t split_names(char *text, const char *names[MAX_NAMES])
{
	size_t n = 0;

	for (char *name = text, *next; name; name = next) {
		unsigned long repeat = 1;
		char *times;

		next = strstr(name, " < ");
		if (next) {
			*next = '\0';
			next += 3;
		}
		times = strchr(name, '*');
		if (times && times[1] >= '0' && times[1] <= '9') {
			repeat = strtoul(times + 1, NULL, 10);
			*times = '\0';
		}
		for (; repeat > 0; repeat--) {
			cr_assert_lt(n, MAX_NAMES);
			names[n++] = name;
		}
	}
	return n;
}

static bool is_library(const struct frame *frame)
{
	return frame->module && strstr(frame->module, "libc.so");
}

static bool has_names(const struct resolved_stack *stack, const struct call_path *path)
{
	char *text = strdup(path->names);
	const char *names[MAX_NAMES];
	size_t n = split_names(text, names), at = 1;
	bool same = true;

	for (size_t i = 0; i < n && same; i++) {
		if (strcmp(names[i], "...") == 0) {
			while (at < stack->n_frames && is_library(&stack->frames[at]))
				at++;
			continue;
		}
		same = at < stack->n_frames && stack->frames[at].function &&
		       strcmp(stack->frames[at].function, names[i]) == 0;
		at++;
	}
	free(text);
	return same;
}

/* Static libraries have several names for it. */
static bool is_malloc(const char *function)
{
	size_t n = function ? strlen(function) : 0;

	return n >= 6 && strcmp(function + n - 6, "malloc") == 0;
}

static void check(void *context, size_t n, const struct resolved_stack *stack, const struct sample *sample)
{
	const struct expectations *expectations = context;
	uint64_t number = sample->definition.stack.regs[5] - TAKE_FIRST_SIZE;
	char *view = witness_describe(stack, sample);
	struct call_path *path;

	(void)n;
	cr_assert_lt(
	        number, expectations->n_paths, "%s takes %lu", expectations->program, (unsigned long)number);
	path = &expectations->paths[number];
	path->n_seen++;
	cr_expect(is_malloc(stack->frames[0].function), "%s", view);
	cr_expect(has_names(stack, path), "%s: not %s, but\n%s", expectations->program, path->names, view);
	cr_expect_eq(stack->end, path->end, "%s: %s", expectations->program, view);
	cr_expect_eq(stack->stitched, path->stitched, "%s: %s", expectations->program, view);
	if (!path->beyond_gdb)
		cr_expect(witness_agrees(stack, sample, true), "%s: gdb differs\n%s", expectations->program,
		        view);
	free(view);
}

static void run_case(const char *program, struct call_path *paths, size_t n_paths)
{
	struct expectations expectations = {.program = program, .paths = paths, .n_paths = n_paths};
	struct folder folder = folder_new(), profile = folder_new();
	char path[512], condition[64], map_folder[128];
	const char *settings[] = {condition, map_folder, NULL}, *argv[] = {path, NULL};
	struct samples samples;

	snprintf(path, sizeof(path), "%s/stack-%s", getenv("STACK_FIXTURES"), program);
	snprintf(condition, sizeof(condition), "SAMPLES_IF=$rdi >= %d", TAKE_FIRST_SIZE);
	snprintf(map_folder, sizeof(map_folder), "PERF_MAP_FOLDER=%s", folder.path);
	samples_take(argv, settings, folder.path, &samples);
	samples_write_profile(&samples, profile.fd, folder.path);
	witness_resolve_all(profile.fd, &samples, check, &expectations);
	for (size_t i = 0; i < n_paths; i++)
		cr_expect_gt(paths[i].n_seen, 0, "%s never took %zu", program, i);
	samples_deinit(&samples);
	folder_remove(&folder);
	folder_remove(&profile);
}

#define PATHS(test, program, ...)                                                                            \
	Test(fixtures, test, .timeout = 120)                                                                 \
	{                                                                                                    \
		struct call_path paths[] = {__VA_ARGS__};                                                    \
                                                                                                             \
		run_case(program, paths, sizeof(paths) / sizeof(paths[0]));                                  \
	}

#define RECURSION(test, program, ...)                                                                        \
	PATHS(test, program, {.names = "deep*200 < main", __VA_ARGS__},                                      \
	        {.names = "even < odd < even < odd < even < odd < even < odd < even < odd < even < main",    \
	                __VA_ARGS__})

RECURSION(recursion, "recursion")
RECURSION(static_program, "recursion-static")
RECURSION(static_pie, "recursion-static-pie")
RECURSION(no_pie, "recursion-no-pie")
RECURSION(lld, "recursion-lld")
RECURSION(no_eh_frame_hdr, "recursion-no-hdr")
RECURSION(clang, "recursion-clang")
RECURSION(musl, "recursion-musl", .beyond_gdb = true)
RECURSION(musl_static, "recursion-musl-static", .beyond_gdb = true)

PATHS(exceptions, "exceptions",
        {"shop::Derived::work(int) const < shop::serve<int>(shop::Base const&, int) < shop::open(shop::Base "
         "const&, int)"
         " < main"},
        {"shop::Guard::~Guard() < shop::serve<int>(shop::Base const&, int) < shop::open(shop::Base const&, "
         "int) < main"},
        {"shop::open(shop::Base const&, int) < main"})

PATHS(callbacks, "callbacks", {"compare < ... < sort < main"}, {"compare_again < ... < search < main"})

PATHS(signals, "signals", {"handle < ... < ask < main"}, {"handle < ... < fault < stumble < main"},
        /* Nothing of the other stack was copied, but where it was left is known. */
        {"handle < ... < fault", .end = STACK_END_TRUNCATED, .beyond_gdb = true})

PATHS(odd_frames, "odd-frames", {"grow < realign < main"}, {"realign < main"}, {"finish < give_up < main"})

PATHS(threads, "threads", {"work < run < ..."}, {"work < in_fiber < ...", .beyond_gdb = true})

PATHS(generated, "generated", {"called_back < js::hot loop < main", .stitched = true, .beyond_gdb = true})

PATHS(inlines, "inlines", {"take < inner < middle < outer < main"})
