/* make_big.c: a profile folder with many events and stacks, for measuring.
 *
 *     make_big FOLDER N_EVENTS N_STACKS
 *
 * Half of the events allocate; blocks live for a random time, up to a million events; each stack has 10 to 60
 * frames out of 20 000 functions in eight modules, and shares its outer part with others, as programs do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"

#define N_LIVE (1u << 19)

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void define(struct maker *maker, uint64_t stack)
{
	unsigned n = 10 + (unsigned)(stack * 2654435761u >> 7) % 51;
	char text[8192];
	size_t used = (size_t)snprintf(text, sizeof(text), "0 0 0\n");
	uint64_t place, function;

	for (unsigned i = 0; i < n; i++) {
		/* The outer half depends on the upper bits of the number only, so that stacks share it. */
		place = i > n / 2 ? (stack >> 6) * 131 + (n - i) : stack * 8191 + i;
		function = i + 1 == n ? 0 : place * 2654435761u % 20000;
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		        "namespace_%lu::function_%lu(int, char "
		        "const*)\t_Zfunction%lu\tsource_%lu.cpp\t%lu\t\t"
		        "/usr/lib/libmodule_%lu.so\tabcdef%lu\t%lx\n",
		        (unsigned long)function % 50, (unsigned long)function, (unsigned long)function,
		        (unsigned long)function % 300, (unsigned long)function % 1000 + 1,
		        (unsigned long)function % 8, (unsigned long)function % 8,
		        (unsigned long)function * 64);
	}
	maker_define(maker, stack + 1, text);
}

int main(int argc, char **argv)
{
	static uint64_t live[N_LIVE];
	uint64_t n_events, n_stacks, time = 1000, slot;
	struct maker maker;

	if (argc != 4)
		return 2;
	n_events = strtoull(argv[2], NULL, 10);
	n_stacks = strtoull(argv[3], NULL, 10);
	maker = maker_new(argv[1]);
	for (uint64_t i = 0; i < n_events; i++, time += 100) {
		if (i < n_stacks)
			define(&maker, i);
		slot = next_random() % N_LIVE;
		if (live[slot])
			maker_free_block(&maker, 1 + (uint32_t)(slot % 3), time, live[slot]);
		else
			maker_malloc(&maker, 1 + (uint32_t)(slot % 3), time, 0x100000 + slot * 4096,
			        16 + next_random() % 2000, 1 + (i < n_stacks ? i : next_random() % n_stacks));
		live[slot] = live[slot] ? 0 : 0x100000 + slot * 4096;
	}
	maker_finish_whole(&maker, NULL);
	return 0;
}
