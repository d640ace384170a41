/* bench_runs.c: whole runs: how long until the first instruction and from the exit to the prompt; bytes of
 * artifact an event; the runner's memory; what a compiler and an interpreter take with the runner and
 * without. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/recording.h"
#include "support/machine.h"
#include "support/memory.h"
#include "util/cleanup.h"

#define N_ROUNDS 5

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *const stacks[] = {"--experimental-stacks", NULL};
static const char *const events[] = {NULL};

static char *built(const char *name)
{
	return test_text("%s/%s", getenv("BENCH_PROGRAMS"), name);
}

static double least(double a, double b)
{
	return a == 0 || b < a ? b : a;
}

static int bench_times(void)
{
	CLEANUP_FREE char *stamp = built("stamp");
	double start = 0, first = 0, stop = 0, alone = 0;

	for (unsigned i = 0; i < N_ROUNDS; i++) {
		struct recording recording, without;
		unsigned long began, ended;

		if (recording_run(WORDS(stamp), NULL, &without) != 0 ||
		        recording_run_and_read(WORDS(stamp), stacks, &recording) != 0 ||
		        sscanf(recording.out, "%lu %lu", &began, &ended) != 2)
			return 1;
		start = least(start, (double)(began - recording.started) / 1e6);
		first = least(first, (double)(began - recording.exec_time) / 1e6);
		stop = least(stop, (double)(recording.ended - ended) / 1e6);
		alone = least(alone, without.wall * 1e3);
	}
	printf("a small C program, least of %d rounds; without the runner all of it takes %.0f ms\n",
	        N_ROUNDS, alone);
	printf("%-44s %8.0f ms\n", "start of the runner to its main", start);
	printf("%-44s %8.0f ms  bar 300\n", "its exec to its main", first);
	printf("%-44s %8.0f ms  bar 500\n", "its end to the prompt", stop);
	return 0;
}

static int bench_size(const char *name, const char *const *argv, const char *bar)
{
	struct recording recording;

	if (recording_run_and_read(argv, stacks, &recording) != 0)
		return 1;
	printf("%-28s %10lu %8.1f %10.1f %10.2f %10.1f %5lu  %s\n", name, (unsigned long)recording.n_events,
	        recording.wall, (double)recording.n_bytes / 1e6,
	        (double)recording.n_bytes / (double)recording.n_events, (double)recording.rss / (1 << 20),
	        (unsigned long)recording.n_lost, bar);
	return 0;
}

static int bench_sizes(const char *n)
{
	CLEANUP_FREE char *pair_loop = built("pair_loop");
	CLEANUP_FREE char *mix_loop = built("mix_loop");
	CLEANUP_FREE char *tenth = strndup(n, strlen(n) - 1);

	printf("%-28s %10s %8s %10s %10s %10s %5s\n", "", "events", "seconds", "MB", "bytes/ev", "MiB RSS",
	        "lost");
	return bench_size("pair loop, a tenth", WORDS(pair_loop, tenth, "12"), "bar 6 bytes") ||
	       bench_size("realistic mix, a tenth", WORDS(mix_loop, tenth), "bar 16 bytes") ||
	       bench_size("pair loop", WORDS(pair_loop, n, "12"), "bar 600 MiB, 6 bytes") ||
	       bench_size("realistic mix", WORDS(mix_loop, n), "bar 600 MiB, 16 bytes");
}

/* The same program alone, with events, with stacks, in turns: what the command itself takes, and what a call of the
 * allocator takes more. */
static int bench_wall(const char *name, const char *const *argv)
{
	const char *const *const options[] = {NULL, events, stacks};
	double own[3] = {0}, whole = 0;
	uint64_t n_calls = 0;

	for (unsigned round = 0; round < N_ROUNDS; round++)
		for (unsigned i = 0; i < N_ELEMENTS(options); i++) {
			struct recording recording;

			if ((options[i] ? recording_run_and_read : recording_run)(argv, options[i], &recording) != 0)
				return 1;
			own[i] = least(own[i], options[i] ? recording.own : recording.wall);
			whole = i == 2 ? least(whole, recording.wall) : whole;
			n_calls = options[i] ? recording.n_calls : n_calls;
		}
	printf("%-20s %10lu %8.2f %8.2f %8.2f %8.2f %8.2f %8.0f %8.0f %8.2f\n", name, (unsigned long)n_calls, own[0],
	        own[1], own[2], own[1] / own[0], own[2] / own[0], (own[1] - own[0]) * 1e9 / n_calls,
	        (own[2] - own[0]) * 1e9 / n_calls, whole);
	return 0;
}

static int bench_walls(void)
{
	static const char script[] =
	        "import json\n"
	        "rows = [{'id': i, 'name': 'row %d' % i, 'tags': ['t'] * 3} for i in range(4000)]\n"
	        "for _ in range(8):\n"
	        "    rows = json.loads(json.dumps(rows))\n";
	CLEANUP_FREE char *source = test_text("%s/bench-in.cpp", getenv("BENCH_PROGRAMS"));
	CLEANUP_FREE char *object = test_text("%s/bench-out.o", getenv("BENCH_PROGRAMS"));
	FILE *file = fopen(source, "we");

	if (!file ||
	        fputs("#include <map>\n#include <string>\n#include <vector>\n"
	              "int f(const std::map<std::string, std::vector<int>> &m)\n"
	              "{ int n = 0; for (auto &e : m) n += e.second.size(); return n; }\n",
	                file) < 0 ||
	        fclose(file) != 0)
		return 1;
	setenv("PYTHONMALLOC", "malloc", 1);
	setenv("PYTHONHASHSEED", "0", 1);
	printf("seconds of the command itself, least of %d rounds; with stacks also of the whole run\n", N_ROUNDS);
	printf("%-20s %10s %8s %8s %8s %8s %8s %8s %8s %8s\n", "", "calls", "alone", "events", "stacks", "ratio",
	        "ratio", "ns/call", "ns/call", "whole");
	return bench_wall("g++ -O2 -c", WORDS("g++", "-O2", "-c", source, "-o", object)) ||
	       bench_wall("python3, json", WORDS("/usr/bin/python3", "-c", script));
}

int main(int argc, char **argv)
{
	const char *reason = machine_why_no_capture(), *what = argc > 1 ? argv[1] : "times";

	if (reason) {
		fprintf(stderr, "no capture here: %s\n", reason);
		return 77;
	}
	if (strcmp(what, "sizes") == 0)
		return bench_sizes(argc > 2 ? argv[2] : "10000000");
	return strcmp(what, "walls") == 0 ? bench_walls() : bench_times();
}
