/* bench_pairs.c: what recording adds to a pair of malloc and free, and in ratio to the trap floor: the same
 * traps at the same places with programs that do nothing. All of it in one run, in turns, so that the
 * machine's mood is the same for all; the least of the rounds is taken. */
#include <stdio.h>
#include <string.h>

#include "bench/floor.h"
#include "support/launch.h"
#include "support/machine.h"
#include "support/memory.h"
#include "util/cleanup.h"

#define N_ROUNDS 9

struct subject {
	const char *name;
	const char *options[6]; /* of the runner; none: it runs without the runner */
	bool floor;
	double ns; /* a pair; the least so far */
};

/* The arguments of pair_loop.c. */
struct task {
	const char *n_pairs;
	const char *depth;
	const char *mode;
};

static struct subject subjects[] = {
        {.name = "not recorded"},
        {.name = "trap floor", .floor = true},
        {.name = "events", .options = {"--quiet"}},
        {.name = "stacks, path", .options = {"--experimental-stacks", "--stack-identity", "path"}},
        {.name = "stacks, code", .options = {"--experimental-stacks", "--stack-identity", "code"}},
        {.name = "stacks, raw", .options = {"--experimental-stacks", "--stack-identity", "raw"}},
};

/* Runs the loop for one subject. Negative: it failed, and it was said why. */
static double run_loop(const struct subject *subject, const struct task *task)
{
	const char *argv[24], *profile = getenv("BENCH_PROFILE");
	struct launch_result result;
	double ns = -1;
	size_t n = 0;

	if (subject->options[0]) {
		const char *const runner[] = {getenv("MEMSTACKS_RUNNER"), "--instrument", "memory",
		        "--no-integrations", "--profile-folder", profile};
		const char *const remove[] = {"rm", "-rf", "--", profile, NULL};

		if (launch_run(&(struct launch){.argv = remove}, &result) == 0)
			launch_result_deinit(&result);
		for (size_t i = 0; i < N_ELEMENTS(runner); i++)
			argv[n++] = runner[i];
		for (size_t i = 0; i < N_ELEMENTS(subject->options) && subject->options[i]; i++)
			argv[n++] = subject->options[i];
		argv[n++] = "--";
	}
	argv[n++] = getenv("BENCH_LOOP");
	argv[n++] = task->n_pairs;
	argv[n++] = task->depth;
	argv[n++] = task->mode;
	argv[n] = NULL;
	if (launch_run(&(struct launch){.argv = argv}, &result) < 0)
		return -1;
	if (result.status == 0)
		ns = strtod(result.out, NULL);
	else
		fprintf(stderr, "%s: status %d\n%s", subject->name, result.status, result.err);
	launch_result_deinit(&result);
	return ns;
}

static int measure(struct subject *subject, const struct task *task)
{
	int links[4], n_links = subject->floor ? floor_attach(getenv("BENCH_LIBRARY"), links) : 0;
	double ns;

	if (n_links < 0) {
		fprintf(stderr, "%s: %s\n", subject->name, strerror(-n_links));
		return 1;
	}
	ns = run_loop(subject, task);
	for (int i = 0; i < n_links; i++)
		close(links[i]);
	if (ns <= 0)
		return 1;
	if (subject->ns == 0 || ns < subject->ns)
		subject->ns = ns;
	return 0;
}

/* What the ratio to the trap floor shall be at most; NULL where nothing was promised. */
static const char *bar_of(const struct subject *subject, const struct task *task)
{
	unsigned long depth = strtoul(task->depth, NULL, 10);

	if (strcmp(subject->name, "events") == 0)
		return "bar 1.2";
	if (strcmp(subject->name, "stacks, path") != 0 || strcmp(task->mode, "cold") == 0)
		return NULL;
	return depth <= 12 ? "bar 1.4" : depth == 200 ? "bar 2.2" : NULL;
}

static void print_table(const struct task *task)
{
	double bare = subjects[0].ns, floor = subjects[1].ns - bare;

	printf("%s pairs, %s frames down, %s, least of %d rounds\n", task->n_pairs, task->depth, task->mode,
	        N_ROUNDS);
	printf("%-16s %10s %10s %8s\n", "", "ns a pair", "added", "ratio");
	for (size_t i = 0; i < N_ELEMENTS(subjects); i++) {
		double added = subjects[i].ns - bare;
		const char *bar = bar_of(&subjects[i], task);

		printf("%-16s %10.0f %10.0f %8.2f%s%s\n", subjects[i].name, subjects[i].ns, added,
		        added / floor, bar ? "  " : "", bar ? bar : "");
	}
}

int main(int argc, char **argv)
{
	struct task task = {
	        argc > 1 ? argv[1] : "100000", argc > 2 ? argv[2] : "12", argc > 3 ? argv[3] : "same"};
	const char *reason = machine_why_no_capture();

	if (reason) {
		fprintf(stderr, "no capture here: %s\n", reason);
		return 77;
	}
	for (unsigned round = 0; round < N_ROUNDS; round++)
		for (size_t i = 0; i < N_ELEMENTS(subjects); i++)
			if (measure(&subjects[i], &task) != 0)
				return 1;
	print_table(&task);
	return 0;
}
