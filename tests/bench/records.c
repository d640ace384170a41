/* records.c: the ring's layout is that of ring.c: a consumer page, a producer page, the data. */
#include "bench/records.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/mix.h"
#include "record.h"
#include "util/cleanup.h"

#define N_THREADS 4
#define N_PATHS   4096
#define PID       12345

static uint64_t state = 88172645463325252u;

int records_init(struct records *records, size_t n_bytes)
{
	size_t page = sysconf(_SC_PAGESIZE), size = page;
	struct records made = {.fd = memfd_create("records", MFD_CLOEXEC)};

	while (size < n_bytes)
		size *= 2;
	/* The data's second image is never looked at: records do not go round. */
	if (made.fd < 0 || ftruncate(made.fd, 2 * page + 2 * size))
		return -errno;
	made.size = size;
	made.memory = mmap(NULL, 2 * page + size, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd, 0);
	if (made.memory == MAP_FAILED)
		return -errno;
	*records = made;
	return 0;
}

/* Room for a record of n bytes. */
static void *add(struct records *records, uint32_t n)
{
	char *at = records->memory + 2 * sysconf(_SC_PAGESIZE) + records->n_bytes;
	uint32_t header[2] = {n, 0};

	if (records->n_bytes + sizeof(header) + n + 7 > records->size)
		abort(); /* the bench asked for too little room */
	memcpy(at, header, sizeof(header));
	records->n_bytes += (sizeof(header) + n + 7) & ~(size_t)7;
	records->n_events++;
	return at + sizeof(header);
}

/* As many as the kernel side puts in one. */
#define N_CALLS (ROOM_BYTES / (CALL_WORDS_ALLOC * sizeof(uint64_t)))

/* How many are sent at once. */
static uint32_t n_at_once = N_CALLS;

/* Calls until they are sent. */
static struct {
	uint64_t words[N_CALLS * CALL_WORDS_MAX];
	uint32_t n_words, n_calls;
} kept;

static void send(struct records *records)
{
	struct record_head *head;

	if (!kept.n_calls)
		return;
	head = add(records, sizeof(*head) + kept.n_words * sizeof(uint64_t));
	*head = (struct record_head){.kind = RECORD_CALLS};
	memcpy(head + 1, kept.words, kept.n_words * sizeof(uint64_t));
	records->n_events += kept.n_calls - 1;
	kept.n_words = kept.n_calls = 0;
}

/* Room for the words of a call. */
static uint64_t *keep(struct records *records, uint32_t n_words)
{
	if (kept.n_calls == n_at_once)
		send(records);
	kept.n_calls++;
	kept.n_words += n_words;
	return &kept.words[kept.n_words - n_words];
}

void records_add_random(struct records *records, uint64_t n)
{
	static const uint32_t kinds[] = {
	        RECORD_MALLOC, RECORD_CALLOC, RECORD_ALIGNED_ALLOC, RECORD_REALLOC, RECORD_FREE};
	static const uint32_t sizes[] = {[RECORD_MALLOC] = CALL_WORDS_ALLOC,
	        [RECORD_CALLOC] = CALL_WORDS_ALLOC,
	        [RECORD_ALIGNED_ALLOC] = CALL_WORDS_ALLOC,
	        [RECORD_REALLOC] = CALL_WORDS_REALLOC,
	        [RECORD_FREE] = CALL_WORDS_FREE};

	for (uint64_t i = 0; i < n; i++) {
		uint32_t kind = kinds[mix_random(&state) % N_ELEMENTS(kinds)];
		uint64_t *words = keep(records, sizes[kind]);

		for (uint32_t k = 0; k < sizes[kind]; k++)
			words[k] = mix_random(&state);
		words[0] = CALL_WORD(kind, CALL_TIME(words[0]));
	}
	send(records);
}

/* Blocks of one size class, free ones in a stack, as allocators keep them. */
struct shelf {
	uint64_t next; /* address never used so far */
	uint32_t n_free;
	uint64_t free[MIX_N_LIVE];
};

static struct shelf shelves[64];

static struct shelf *shelf_of(uint64_t size)
{
	return &shelves[size <= 1008 ? size / 16 : 63];
}

static uint64_t take_block(uint64_t size)
{
	struct shelf *shelf = shelf_of(size);
	uint64_t step = size <= 1008 ? (size / 16 + 2) * 16 : (size + 4111) & ~4095ull, block;

	if (shelf->n_free)
		return shelf->free[--shelf->n_free];
	if (!shelf->next)
		shelf->next = 0x555555570010 + (uint64_t)(shelf - shelves) * 0x1000000;
	block = shelf->next;
	shelf->next += step;
	return block;
}

static uint64_t later(uint64_t *now)
{
	/* A call takes part of a microsecond, and what comes between calls as much or more. */
	*now += 250 + mix_random(&state) % 1500;
	return *now;
}

void records_add_realistic(struct records *records, uint64_t n, bool singly)
{
	static struct {
		uint64_t address, size;
	} live[MIX_N_LIVE];
	static uint64_t hashes[N_PATHS];
	uint64_t now = 5000000000000, *words;

	n_at_once = singly ? 1 : N_CALLS;
	memset(live, 0, sizeof(live));
	for (size_t i = 0; i < N_PATHS; i++)
		hashes[i] = mix_random(&state);
	for (uint64_t i = 0; i < n; i++) {
		uint32_t slot = mix_slot(&state), thread = (i / 1000) % N_THREADS;
		uint64_t random = mix_random(&state);

		if (live[slot].address) {
			struct shelf *shelf = shelf_of(live[slot].size);

			words = keep(records, CALL_WORDS_FREE);
			words[0] = CALL_WORD(RECORD_FREE, later(&now));
			words[1] = CALL_TASK(PID, PID + thread);
			words[2] = live[slot].address;
			if (shelf->n_free < N_ELEMENTS(shelf->free))
				shelf->free[shelf->n_free++] = live[slot].address;
			live[slot].address = 0;
			continue;
		}
		live[slot].size = mix_size(&state);
		live[slot].address = take_block(live[slot].size);
		words = keep(records, CALL_WORDS_ALLOC);
		words[0] = CALL_WORD(random % 16 ? RECORD_MALLOC : RECORD_CALLOC, later(&now));
		words[1] = CALL_TASK(PID, PID + thread);
		words[2] = live[slot].address;
		words[3] = live[slot].size;
		words[4] = hashes[mix_rank(&state, N_PATHS)];
	}
	send(records);
}

void records_add_definitions(struct records *records, uint64_t n, uint32_t n_bytes)
{
	for (uint64_t i = 0; i < n; i++) {
		struct record_stack *stack = add(records, sizeof(*stack) + n_bytes);
		uint64_t *words = (uint64_t *)stack;

		for (uint32_t k = 0; k < (sizeof(*stack) + n_bytes) / 8; k++)
			words[k] = mix_random(&state);
		stack->head.kind = RECORD_STACK;
		stack->head.flags = 0;
		stack->n_bytes = n_bytes;
		stack->n_fp_chain = 0;
	}
}

size_t records_chunk(const struct records *records, size_t at, size_t limit)
{
	const char *data = records->memory + 2 * sysconf(_SC_PAGESIZE);
	size_t n = 0;

	while (at + n < records->n_bytes) {
		uint32_t size;

		memcpy(&size, data + at + n, sizeof(size));
		size = (2 * sizeof(size) + size + 7) & ~7u;
		if (n + size > limit)
			break;
		n += size;
	}
	return n;
}

void records_rewind(struct records *records)
{
	*(unsigned long *)records->memory = 0;
	*(unsigned long *)(records->memory + sysconf(_SC_PAGESIZE)) = records->n_bytes;
}

void records_deinit(struct records *records)
{
	munmap(records->memory, 2 * sysconf(_SC_PAGESIZE) + records->size);
	close(records->fd);
}
