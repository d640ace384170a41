/* stamp: prints when it began and when it is about to end, in ns of CLOCK_MONOTONIC. A small C program
 * otherwise. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int main(void)
{
	uint64_t start = now();

	for (unsigned i = 0; i < 1000; i++)
		free(malloc(16 + i));
	printf("%lu ", (unsigned long)start);
	fflush(stdout);
	printf("%lu\n", (unsigned long)now());
	return 0;
}
