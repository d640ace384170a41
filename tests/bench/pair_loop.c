/* pair_loop N DEPTH: prints what a pair of malloc and free takes, in ns, over N pairs made DEPTH frames down.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N_WARM 2000

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void pairs(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		free(malloc(64));
}

__attribute__((noinline)) static double measure(unsigned long n, unsigned long depth)
{
	volatile char pad[64];
	uint64_t start;
	double result;

	pad[0] = (char)depth;
	if (depth > 0) {
		result = measure(n, depth - 1);
		pad[1] = pad[0];
		return result;
	}
	pairs(N_WARM);
	start = now();
	pairs(n);
	return (double)(now() - start) / n;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	printf("%.1f\n", measure(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10)));
	return 0;
}
