/* calls.bpf.h: allocator calls on their way to the ring, many in one record.
 *
 * A record of its own for each call costs more than all else about it. So calls are kept in rooms, one for each
 * processor, and sent when a room is full, and when the plugin asks. A program may be preempted by one of another thread
 * on the same processor, so a room is claimed; nobody waits for one.
 */
#ifndef BPF_CALLS_BPF_H
#define BPF_CALLS_BPF_H

#include "pressure.bpf.h"
#include "thread.bpf.h"

/* Sends what is in a claimed room. Not 0: the ring is full, and nothing was sent. */
static __always_inline long room_send(struct room *room)
{
	u64 n = room->n_bytes;
	long failed = 0;

	if (n && n <= ROOM_BYTES) {
		fill_head(&room->head, RECORD_CALLS, 0, 0, 0);
		failed = bpf_ringbuf_output(&ring, &room->head, sizeof(room->head) + n, BPF_RB_NO_WAKEUP);
	}
	if (!failed)
		room->n_bytes = room->n_calls = 0;
	return failed;
}

/* Sends what is in a room that is full, so that there is space. */
__noinline int room_empty(u32 index)
{
	struct room *room = bpf_map_lookup_elem(&rooms, &index);

	relieve_pressure(ROOM_BYTES);
	if (room && room_send(room)) {
		__sync_fetch_and_add(&lost[LOST_RING_EVENTS], room->n_calls);
		room->n_bytes = room->n_calls = 0;
	}
	return 0;
}

/* A structure, so that a function of its own knows how many words it is given. */
struct call {
	u64 words[CALL_WORDS_MAX];
};

/* A record with just this call: the room is in use by a program that was preempted. */
__noinline int call_send_alone(const struct call *call, u32 n_words)
{
	struct {
		struct record_head head;
		struct call call;
	} record;

	if (!call || n_words > CALL_WORDS_MAX)
		return 0;
	relieve_pressure(sizeof(record));
	fill_head(&record.head, RECORD_CALLS, 0, 0, 0);
	record.call = *call;
	if (bpf_ringbuf_output(&ring, &record, sizeof(record.head) + n_words * 8, BPF_RB_NO_WAKEUP))
		count_lost(LOST_RING_EVENTS);
	return 0;
}

/* What does not go into the ring now goes later; that is counted. */
static long room_flush(u32 index, u32 *n_left)
{
	struct room *room = bpf_map_lookup_elem(&rooms, &index);

	if (!room || (!room->n_bytes && !room->busy))
		return 0;
	if (!try_claim(&room->busy)) {
		++*n_left;
		return 0;
	}
	*n_left += room_send(room) != 0;
	release(&room->busy);
	return 0;
}

/* The thread is on another processor than at its last call, or ends, or becomes another program: what it left behind goes
 * first, so that its calls stay in order. */
__noinline int room_leave(u32 index)
{
	u32 n_left = 0;

	room_flush(index, &n_left);
	return n_left;
}

/* n_words is a constant. */
static __always_inline void call_add(struct thread *thread, const struct call *call, u32 n_words)
{
	u32 index = bpf_get_smp_processor_id() & (MAX_ROOMS - 1), at;
	struct room *room = bpf_map_lookup_elem(&rooms, &index);

	if (thread->room != index) {
		room_leave(thread->room);
		thread->room = index;
	}
	if (!room || !try_claim(&room->busy)) {
		call_send_alone(call, n_words);
		return;
	}
	if (room->n_bytes > ROOM_BYTES - n_words * 8)
		room_empty(index);
	at = BELOW(room->n_bytes, ROOM_BYTES);
#pragma unroll
	for (u32 i = 0; i < n_words; i++)
		*(u64 *)&room->bytes[at + i * 8] = call->words[i];
	room->n_bytes = at + n_words * 8;
	room->n_calls++;
	release(&room->busy);
}

#endif
