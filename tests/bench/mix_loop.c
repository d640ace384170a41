/* mix_loop N DEPTH: N allocations as a real heap has them (mix.h), made from a thousand call paths. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/mix.h"

#define FRAME   __attribute__((noinline, noclone))
#define N_PATHS 1024

static void *live[MIX_N_LIVE];
static uint64_t state = 88172645463325252u;

static void step(uint32_t slot)
{
	uint64_t size = mix_size(&state);

	if (live[slot] && (size & 15) == 5) {
		live[slot] = realloc(live[slot], size);
		return;
	}
	free(live[slot]);
	live[slot] = malloc(size);
}

/* Each bit of `path` chooses one of two calls. */
FRAME static void descend(uint32_t path, unsigned depth, uint32_t slot)
{
	if (depth == 0)
		step(slot);
	else if (path & 1)
		descend(path >> 1, depth - 1, slot);
	else
		descend(path >> 1, depth - 1, slot);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	unsigned depth = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 12;

	for (unsigned long i = 0; i < n; i++)
		descend(mix_rank(&state, N_PATHS), depth, mix_slot(&state));
	return 0;
}
