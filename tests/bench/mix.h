/* mix.h: what a real heap is asked for, in numbers: mostly small blocks of few sizes, some text of any
 * length, few large ones; and how long blocks live. For programs and for records alike, so no dependencies.
 */
#ifndef TESTS_BENCH_MIX_H
#define TESTS_BENCH_MIX_H

#include <stdint.h>

/* Blocks that live at most: a third of them for a moment, the others for long. */
#define MIX_N_LIVE 65536u

static inline uint64_t mix_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Bytes to ask for. */
static inline uint64_t mix_size(uint64_t *state)
{
	static const uint16_t common[] = {16, 24, 24, 32, 32, 32, 40, 48, 48, 56, 64, 64, 72, 88, 96, 128};
	uint64_t random = mix_random(state);

	switch (random & 15) {
	case 0: /* text and small arrays */
	case 1:
	case 2:
		return 1 + (random >> 8) % 120;
	case 3: /* buffers */
		return 128 + (random >> 8) % 4000;
	case 4:
		return (random >> 4 & 15) ? 512 : 8192 + (random >> 8) % 120000;
	default: /* nodes and objects */
		return common[random >> 4 & 15];
	}
}

/* Which block is replaced next. */
static inline uint32_t mix_slot(uint64_t *state)
{
	uint64_t random = mix_random(state);

	return random & 1 ? (random >> 8) % 64 : (random >> 8) % MIX_N_LIVE;
}

/* A number below `n`, small ones much more often: which of the call paths it is. */
static inline uint32_t mix_rank(uint64_t *state, uint32_t n)
{
	uint64_t random = mix_random(state);
	uint64_t part = n >> (random & 15) % 12;

	return (random >> 8) % (part ? part : 1);
}

#endif
