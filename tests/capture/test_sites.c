/* test_sites.c: every probe site chosen in every allocator library installed, single-stepped under ptrace
 * from the function's entry, in calls of every kind: the site is reached once and never skipped, with the
 * stack pointer, the saved registers and the arguments as at entry. */
#include <criterion/criterion.h>
#include <glob.h>
#include <inttypes.h>
#include <string.h>

#include "capture/capture.h"
#include "support/inferior.h"
#include "support/memory.h"
#include "util/cleanup.h"

#define N_SITES 256

/* Stand-ins in the argument lists. */
#define BLOCK  0xb10c0000b10c0001u /* a small block */
#define LARGE  0xb10c0000b10c0002u /* one from the kernel */
#define RESULT 0xb10c0000b10c0003u /* memory for a result */
#define HUGE   ((uint64_t)1 << 62)

/* Argument lists of a function; `name` without the prefix of its library. */
struct argument_table {
	const char *name;
	uint64_t lists[8][5];
	unsigned n_lists;
};

static const struct argument_table tables[] = {
        {"malloc", {{0}, {1}, {24}, {1000}, {5000}, {300000}, {HUGE}, {24}}, 8},
        {"calloc", {{0, 8}, {1, 24}, {3, 1000}, {1, 300000}, {HUGE, 16}, {HUGE, 1}, {8, 0}}, 7},
        {"realloc",
                {{0, 0}, {0, 100}, {BLOCK, 2000}, {BLOCK, 10}, {BLOCK, 0}, {BLOCK, HUGE}, {LARGE, 400000},
                        {0, HUGE}},
                8},
        {"reallocarray",
                {{0, 0, 8}, {0, 10, 10}, {BLOCK, 100, 20}, {BLOCK, 1, 4}, {BLOCK, HUGE, 16}, {0, HUGE, 16}},
                6},
        {"free", {{0}, {BLOCK}, {LARGE}, {0}}, 4},
        {"cfree", {{0}, {BLOCK}, {LARGE}, {0}}, 4},
        {"free_sized", {{0, 0}, {BLOCK, 48}}, 2},
        {"free_aligned_sized", {{0, 16, 0}, {BLOCK, 16, 48}}, 2},
        {"aligned_alloc", {{16, 0}, {16, 100}, {64, 64}, {4096, 8192}, {64, HUGE}, {16, 300000}}, 6},
        {"memalign", {{16, 0}, {16, 100}, {64, 65}, {4096, 8192}, {64, HUGE}, {16, 300000}}, 6},
        {"posix_memalign",
                {{RESULT, 16, 100}, {RESULT, 4096, 1}, {RESULT, 3, 10}, {RESULT, 0, 10}, {RESULT, 64, HUGE},
                        {RESULT, 64, 300000}},
                6},
        {"valloc", {{0}, {100}, {300000}, {HUGE}}, 4},
        {"pvalloc", {{0}, {100}, {300000}, {HUGE}}, 4},
};

static const char *const prefixes[] = {"je_", "_rjem_", "mi_", "tc_", ""};

/* A line of list_sites. */
struct listed_site {
	char symbol[128];
	uint64_t svma;
	unsigned offset;
	unsigned n_arguments;
};

struct sites {
	struct listed_site site[N_SITES];
	size_t n;
};

static void read_sites(const char *library, struct sites *ret_sites)
{
	struct launch_result result;
	char *line, *rest;

	ret_sites->n = 0;
	cr_assert_eq(launch_run(&(struct launch){.argv = WORDS(capture_env("MEMSTACKS_LIST_SITES"), library)},
	                     &result),
	        0);
	cr_assert_eq(result.status, 0, "list_sites %s: %s", library, result.err);
	for (line = strtok_r(result.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct listed_site *site = &ret_sites->site[ret_sites->n++];

		cr_assert_leq(ret_sites->n, N_SITES);
		cr_assert_eq(sscanf(line, "%127s %" SCNx64 " %u %*x %u", site->symbol, &site->svma,
		                     &site->offset, &site->n_arguments),
		        4, "not understood: %s", line);
	}
	launch_result_deinit(&result);
}

static const struct argument_table *find_table(const char *symbol)
{
	for (size_t i = 0; i < N_ELEMENTS(prefixes); i++) {
		size_t n_prefix = strlen(prefixes[i]);

		if (strncmp(symbol, prefixes[i], n_prefix) != 0)
			continue;
		for (size_t j = 0; j < N_ELEMENTS(tables); j++)
			if (strcmp(symbol + n_prefix, tables[j].name) == 0)
				return &tables[j];
	}
	return NULL;
}

static const struct listed_site *find_malloc(const struct sites *sites)
{
	for (size_t i = 0; i < sites->n; i++) {
		const struct argument_table *table = find_table(sites->site[i].symbol);

		if (table && strcmp(table->name, "malloc") == 0)
			return &sites->site[i];
	}
	return NULL;
}

static uint64_t fill_in(struct inferior *inferior, uint64_t function, uint64_t argument)
{
	uint64_t size = argument == BLOCK ? 48 : 300000;
	struct inferior_call call;

	if (argument == RESULT)
		return inferior->scratch;
	if (argument != BLOCK && argument != LARGE)
		return argument;
	cr_assert_eq(inferior_call(inferior, function, 0, (const uint64_t[5]){size}, &call), 0);
	cr_assert(call.returned && call.result != 0, "malloc in the traced program failed");
	return call.result;
}

static void check_call(const char *library, const struct listed_site *site, const uint64_t list[5],
        const struct inferior_call *call)
{
	CLEANUP_FREE char *what = test_text("%s: %s+%u (%#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ")", library,
	        site->symbol, site->offset, list[0], list[1], list[2]);

	cr_expect(call->returned, "%s: did not return to its caller", what);
	cr_expect_eq(call->n_arrivals, 1, "%s: the site was reached %u times", what, call->n_arrivals);
	if (call->n_arrivals == 0)
		return;
	cr_expect(call->stack_untouched, "%s: SP is not what it was at entry", what);
	cr_expect(call->saved_untouched, "%s: a saved register is not what it was at entry", what);
	for (unsigned i = 0; i < site->n_arguments; i++)
		cr_expect(
		        call->argument_untouched[i], "%s: argument %u is not what it was at entry", what, i);
}

/* Returns the number of calls made. */
static size_t check_site(const char *library, struct inferior *inferior, uint64_t bias,
        const struct sites *sites, const struct listed_site *site)
{
	const struct argument_table *table = find_table(site->symbol);
	uint64_t allocate = find_malloc(sites)->svma + bias;

	cr_assert_not_null(
	        table, "%s: no argument lists for %s: add them to this test", library, site->symbol);
	cr_assert_leq(site->n_arguments, 5);
	for (unsigned i = 0; i < table->n_lists; i++) {
		uint64_t list[5];
		struct inferior_call call;

		for (unsigned j = 0; j < 5; j++)
			list[j] = fill_in(inferior, allocate, table->lists[i][j]);
		cr_assert_eq(inferior_call(inferior, site->svma + bias, site->svma + bias + site->offset,
		                     list, &call),
		        0, "%s: the program died in %s, argument list %u", library, site->symbol, i);
		check_call(library, site, list, &call);
	}
	return table->n_lists;
}

static void check_library(const char *library, const char *program, bool preload)
{
	CLEANUP_FREE char *idle = capture_fixture_path(program);
	struct inferior inferior;
	struct sites sites;
	size_t n_calls = 0;
	uint64_t bias;

	read_sites(library, &sites);
	cr_assert_geq(sites.n, 4, "only %zu sites in %s", sites.n, library);
	cr_assert_not_null(find_malloc(&sites), "no malloc in %s", library);
	cr_assert_eq(inferior_init(idle, preload ? library : NULL, &inferior), 0,
	        "%s did not come up with %s", program, library);
	cr_assert_eq(inferior_bias(&inferior, library, &bias), 0, "%s does not map %s", program, library);
	for (size_t i = 0; i < sites.n; i++)
		n_calls += check_site(library, &inferior, bias, &sites, &sites.site[i]);
	fprintf(stderr, "%s: %zu sites, %zu calls stepped\n", library, sites.n, n_calls);
	inferior_deinit(&inferior);
}

/* Every file that the pattern finds below the folder of libraries. Fails or skips when there is none. */
static void check_pattern(const char *pattern, const char *program, bool preload)
{
	CLEANUP_FREE char *whole = test_text("/usr/lib/%s/%s", capture_env("MEMSTACKS_MULTIARCH"), pattern);
	glob_t found;

	if (glob(whole, 0, NULL, &found) != 0)
		cr_skip_test("not installed: %s", whole);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_library(found.gl_pathv[i], program, preload);
	globfree(&found);
}

Test(sites, c_library)
{
	check_pattern("libc.so.6", "idle", false);
}

Test(sites, jemalloc)
{
	check_pattern("libjemalloc.so.?", "idle", true);
}

Test(sites, mimalloc)
{
	check_pattern("libmimalloc*.so.?", "idle", true);
}

Test(sites, tcmalloc)
{
	check_pattern("libtcmalloc*.so.?", "idle", true);
}

Test(sites, musl)
{
	CLEANUP_FREE char *idle = capture_fixture_path("idle_musl");
	CLEANUP_FREE char *library =
	        test_text("/usr/lib/%s/libc.so", capture_env("MEMSTACKS_MULTIARCH_MUSL"));

	if (access(idle, X_OK) != 0)
		cr_skip_test("there is no musl-gcc");
	check_library(library, "idle_musl", false);
}

/* The test itself: a site in the middle of a function, behind a push, and one on a path not taken, are found.
 */
Test(sites, wrong_sites_are_noticed)
{
	CLEANUP_FREE char *idle = capture_fixture_path("idle");
	CLEANUP_FREE char *library = test_text("/usr/lib/%s/libc.so.6", capture_env("MEMSTACKS_MULTIARCH"));
	unsigned n_bad_stack = 0, n_skipped = 0;
	struct inferior inferior;
	struct inferior_call call;
	struct sites sites;
	uint64_t bias, entry;

	read_sites(library, &sites);
	cr_assert_eq(inferior_init(idle, NULL, &inferior), 0);
	cr_assert_eq(inferior_bias(&inferior, library, &bias), 0);
	entry = find_malloc(&sites)->svma + bias;
	for (unsigned offset = 1; offset < 96; offset++) {
		cr_assert_eq(
		        inferior_call(&inferior, entry, entry + offset, (const uint64_t[5]){24}, &call), 0);
		n_skipped += call.n_arrivals == 0;
		n_bad_stack += call.n_arrivals == 1 && !call.stack_untouched;
	}
	cr_assert_gt(n_skipped, 0);
	cr_assert_gt(n_bad_stack, 0);
	inferior_deinit(&inferior);
}

/* Arrivals are counted while the call is stepped, and afterwards. */
Test(sites, every_arrival_is_counted)
{
	CLEANUP_FREE char *idle = capture_fixture_path("idle");
	struct inferior inferior;
	struct inferior_call call;
	uint64_t loop, body;

	cr_assert_eq(inferior_init(idle, NULL, &inferior), 0);
	loop = inferior_read(&inferior, inferior.scratch);
	body = inferior_read(&inferior, inferior.scratch + 8);
	cr_assert_eq(
	        inferior_call(&inferior, loop, body, (const uint64_t[5]){2 * INFERIOR_MAX_STEPS}, &call), 0);
	cr_assert(call.returned);
	cr_assert_eq(call.n_arrivals, 2 * INFERIOR_MAX_STEPS, "%u arrivals", call.n_arrivals);
	cr_assert_eq(call.n_steps_before, 1);
	cr_assert_eq(inferior_call(&inferior, loop, body, (const uint64_t[5]){1}, &call), 0);
	cr_assert_eq(call.n_arrivals, 1);
	inferior_deinit(&inferior);
}
