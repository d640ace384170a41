/* pressure.bpf.h: slowing the producer down when the ring fills, so that nothing is lost.
 *
 * The thread waits here, inside the program, until the consumer has caught up or a bound has passed. Nobody can see
 * such a wait: no signal, no stopped process, nothing to undo when the runner dies. The fuller the ring, the longer
 * the bound, so that what is left of it lasts for minutes without a consumer.
 */
#ifndef BPF_PRESSURE_BPF_H
#define BPF_PRESSURE_BPF_H

#include "maps.bpf.h"

/* Sixteenths of the ring, and the longest wait from there on, in ns, for PRESSURE_PORTION bytes. */
#define PRESSURE_LEVELS(level)                                                                             \
	level(15, 100000000ull) level(14, 20000000ull) level(12, 2000000ull) level(8, 200000ull)

#define PRESSURE_START   (RING_BYTES / 16 * 8)
#define PRESSURE_PORTION 2048u

struct wait {
	u64 until;
	u64 below;
};

static long wait_step(u32 i, struct wait *wait)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < wait->below || bpf_ktime_get_ns() >= wait->until;
}

__noinline int wait_for_consumer(u64 pending, u32 n_bytes)
{
	u64 portions = (n_bytes + PRESSURE_PORTION - 1) / PRESSURE_PORTION;
	u64 now = bpf_ktime_get_ns();
	struct wait wait = {.below = PRESSURE_START};

#define TRY_LEVEL(sixteenths, bound)                                                                       \
	if (!wait.until && pending >= RING_BYTES / 16 * (sixteenths))                                      \
		wait.until = now + (bound) * portions;
	PRESSURE_LEVELS(TRY_LEVEL)
#undef TRY_LEVEL
	bpf_loop(1 << 23, wait_step, &wait, 0);
	__sync_fetch_and_add(&notes[NOTE_WAITS], 1);
	__sync_fetch_and_add(&notes[NOTE_WAITED], bpf_ktime_get_ns() - now);
	return 0;
}

/* Called before calls are added to the ring, or after a definition was, with their size. */
static __always_inline void relieve_pressure(u32 n_bytes)
{
	u64 pending = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);

	if (pending >= PRESSURE_START)
		wait_for_consumer(pending, n_bytes);
}

#endif
