/* pair_loop N DEPTH MODE: prints what a pair of malloc and free takes, in ns, over N pairs made DEPTH frames
 * down.
 *
 * same      one call path, one stack for all
 * paths     64 call paths, and all locals change from pair to pair
 * changing  one call path, and all locals change
 * cold      4096 functions in random order, so that nothing about the next one is in a cache
 *
 * What is spent outside the pair is measured too, without pairs, and taken off. Measured in windows, of which the
 * median counts: what else the machine does falls on some of them, what recording does on all.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_WARM      2000
#define N_WINDOWS   50
#define N_FUNCTIONS 4096
#define FRAME       __attribute__((noinline, noclone))

static int with_pairs = 1;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static inline void pair(void)
{
	if (with_pairs)
		free(malloc(64));
	__asm__ volatile("" ::: "memory");
}

FRAME static void same(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		pair();
	__asm__ volatile("" ::: "memory");
}

/* The function of a number, each with machine code of its own, far apart. */
#define ONE(n)                                                                                               \
	__attribute__((noinline, noclone, aligned(256))) static void cold_##n(void)                          \
	{                                                                                                    \
		pair();                                                                                      \
	}
#define NAME(n)     cold_##n,
#define EIGHT(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define AGAIN(m, n)                                                                                          \
	EIGHT(m, n##0)                                                                                       \
	EIGHT(m, n##1)                                                                                       \
	EIGHT(m, n##2) EIGHT(m, n##3) EIGHT(m, n##4) EIGHT(m, n##5) EIGHT(m, n##6) EIGHT(m, n##7)
#define THIRD(m, n)                                                                                          \
	AGAIN(m, n##0)                                                                                       \
	AGAIN(m, n##1)                                                                                       \
	AGAIN(m, n##2) AGAIN(m, n##3) AGAIN(m, n##4) AGAIN(m, n##5) AGAIN(m, n##6) AGAIN(m, n##7)
#define ALL(m) THIRD(m, 0) THIRD(m, 1) THIRD(m, 2) THIRD(m, 3) THIRD(m, 4) THIRD(m, 5) THIRD(m, 6) THIRD(m, 7)

ALL(ONE)
static void (*const functions[N_FUNCTIONS])(void) = {ALL(NAME)};

FRAME static void cold(unsigned long n)
{
	unsigned long at = 1;

	for (unsigned long i = 0; i < n; i++) {
		at = (at * 1664525 + 1013904223) % (1ul << 32);
		functions[at >> 20]();
	}
}

/* One frame of a stack that looks different in every round; `path` chooses the calls. */
FRAME static void change(unsigned long depth, unsigned long round, unsigned long path)
{
	volatile unsigned long pad[4];

	for (unsigned i = 0; i < 4; i++)
		pad[i] = round * 0x9e3779b97f4a7c15ul + depth;
	if (depth == 0)
		pair();
	else if (path & 1)
		change(depth - 1, round + 1, path >> 1);
	else
		change(depth - 1, round, path >> 1);
	pad[0] = pad[1];
}

static unsigned long changing_depth, n_paths;

FRAME static void changing(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		change(changing_depth, i, i % n_paths);
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double measure(void (*loop)(unsigned long), unsigned long n)
{
	double windows[N_WINDOWS];

	for (unsigned i = 0; i < N_WINDOWS; i++) {
		uint64_t start = now();

		loop(n / N_WINDOWS);
		windows[i] = (double)(now() - start) / (n / N_WINDOWS);
	}
	qsort(windows, N_WINDOWS, sizeof(*windows), compare);
	return windows[N_WINDOWS / 2];
}

/* Goes `depth` frames down first. */
FRAME static double descend(unsigned long depth, void (*loop)(unsigned long), unsigned long n)
{
	volatile char pad[64];
	double result, beside;

	pad[0] = (char)depth;
	if (depth > 0) {
		result = descend(depth - 1, loop, n);
		pad[1] = pad[0];
		return result;
	}
	with_pairs = 0;
	beside = measure(loop, n);
	with_pairs = 1;
	loop(loop == cold ? 16 * N_FUNCTIONS : N_WARM);
	return measure(loop, n) - beside;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[3] : "same";
	unsigned long n, depth;

	if (argc < 3)
		return 2;
	n = strtoul(argv[1], NULL, 10);
	depth = strtoul(argv[2], NULL, 10);
	changing_depth = depth;
	n_paths = strcmp(mode, "paths") == 0 ? 64 : 1;
	if (strcmp(mode, "same") == 0)
		printf("%.1f\n", descend(depth, same, n));
	else if (strcmp(mode, "cold") == 0)
		printf("%.1f\n", descend(depth, cold, n));
	else
		printf("%.1f\n", descend(0, changing, n));
	return 0;
}
