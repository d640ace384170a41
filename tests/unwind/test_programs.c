/* Proves that stacks of real programs are what gdb sees, from the allocator to the first frame. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "witness.h"

struct totals {
	const char *program;
	size_t n_stacks;
	size_t n_whole;
	size_t n_agreeing;
	size_t n_frames;
};

static void check(void *context, size_t n, const struct resolved_stack *stack, const struct sample *sample)
{
	struct totals *totals = context;
	bool agrees = witness_agrees(stack, sample, true);

	(void)n;
	totals->n_stacks++;
	totals->n_frames += stack->n_frames;
	totals->n_whole += stack->end == STACK_END_BASE && !stack->stitched;
	totals->n_agreeing += agrees;
	if (!agrees || stack->end != STACK_END_BASE) {
		char *view = witness_describe(stack, sample);

		cr_log_warn("%s: %s", totals->program, view);
		free(view);
	}
}

/* `every`: take each n-th call. All stacks must be whole, and gdb's. */
static void run_case(const char *const *argv, unsigned every, size_t min_stacks, const char *setting)
{
	struct folder folder = folder_new(), profile = folder_new();
	struct totals totals = {.program = argv[0]};
	const char *settings[] = {NULL, "SAMPLES_MAX=100", setting, NULL};
	struct samples samples;
	char rate[32];

	if (access(argv[0], X_OK) != 0) {
		folder_remove(&folder);
		folder_remove(&profile);
		cr_skip_test("%s is not installed", argv[0]);
	}
	snprintf(rate, sizeof(rate), "SAMPLES_EVERY=%u", every);
	settings[0] = rate;
	samples_take(argv, settings, folder.path, &samples);
	samples_write_profile(&samples, profile.fd, NULL);
	witness_resolve_all(profile.fd, &samples, check, &totals);
	cr_log_info("%s: %zu stacks of %.1f frames, %zu whole, %zu as gdb", argv[0], totals.n_stacks,
	        (double)totals.n_frames / (double)totals.n_stacks, totals.n_whole, totals.n_agreeing);
	cr_expect_geq(totals.n_stacks, min_stacks, "%s: %zu", argv[0], totals.n_stacks);
	cr_expect_eq(
	        totals.n_whole, totals.n_stacks, "%s: %zu of %zu", argv[0], totals.n_whole, totals.n_stacks);
	cr_expect_eq(totals.n_agreeing, totals.n_stacks, "%s: %zu of %zu", argv[0], totals.n_agreeing,
	        totals.n_stacks);
	samples_deinit(&samples);
	folder_remove(&folder);
	folder_remove(&profile);
}

#define ARGUMENTS(...)                                                                                       \
	(const char *const[])                                                                                \
	{                                                                                                    \
		__VA_ARGS__, NULL                                                                            \
	}

Test(programs, python, .timeout = 120)
{
	run_case(ARGUMENTS("/usr/bin/python3", "-S", "-c",
	                 "import json; print(len(json.dumps([{'a': i, 'b': [str(i)] * 3} for i in "
	                 "range(300)])))"),
	        197, 50, "PYTHONMALLOC=malloc");
}

Test(programs, perl, .timeout = 120)
{
	run_case(ARGUMENTS("/usr/bin/perl", "-e",
	                 "my %h; $h{$_} = [$_, 'x' x $_] for 1..3000; print scalar keys %h"),
	        47, 50, NULL);
}

Test(programs, sqlite, .timeout = 120)
{
	run_case(ARGUMENTS("/usr/bin/sqlite3", ":memory:",
	                 "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from "
	                 "c "
	                 "where x < 3000)"
	                 " insert into t select x, 'v' || x from c; select count(*) from t;"),
	        41, 50, NULL);
}

Test(programs, git, .timeout = 120)
{
	run_case(ARGUMENTS("/usr/bin/git", "help", "-a"), 5, 50, NULL);
}

/* The compiler proper: cc1plus is where gcc allocates. */
Test(programs, compiler, .timeout = 240)
{
	int status;
	char *path = shell(&status, "g++ -print-prog-name=cc1plus");
	char source[] = "/tmp/unwind-XXXXXX";
	int fd = mkstemp(source);
	FILE *file = fdopen(fd, "w");

	path[strcspn(path, "\n")] = '\0';
	fprintf(file,
	        "template <int n> struct s { static int f(int x) { return s<n - 1>::f(x + n) * 3; } };\n"
	        "template <> struct s<0> { static int f(int x) { return x; } };\n"
	        "int main(int argc, char **) { return s<100>::f(argc); }\n");
	fclose(file);
	run_case(ARGUMENTS(path, "-quiet", "-O2", source, "-o", "/dev/null"), 97, 30, NULL);
	unlink(source);
	free(path);
}
