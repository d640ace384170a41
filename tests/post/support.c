/* support.c: what the tests of post/ share. */
#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "util/cleanup.h"
#include "util/file.h"

uint64_t random_next(struct random *random)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return random->state;
}

uint64_t random_below(struct random *random, uint64_t n)
{
	return random_next(random) % n;
}

uint64_t random_wide(struct random *random)
{
	return random_next(random) >> random_below(random, 64);
}

static void random_definition(struct random *random, struct event_stack *stack)
{
	static uint8_t bytes[70000];
	static uint64_t chain[70];

	stack->hash = random_wide(random) | 1;
	stack->sp = random_wide(random);
	for (size_t i = 0; i < EVENT_N_REGS; i++)
		stack->regs[i] = random_wide(random);
	stack->n_bytes =
	        random_below(random, 4) ? random_below(random, 600) : random_below(random, sizeof(bytes));
	for (size_t i = 0; i < stack->n_bytes; i++)
		bytes[i] = (uint8_t)random_next(random);
	stack->bytes = bytes;
	stack->n_fp_chain = random_below(random, N_ELEMENTS(chain));
	for (size_t i = 0; i < stack->n_fp_chain; i++)
		chain[i] = random_wide(random);
	stack->fp_chain = chain;
	stack->truncated = random_below(random, 2);
}

static void random_mapping(struct random *random, struct event_mapping *mapping)
{
	static char path[300];

	mapping->n_path = random_below(random, sizeof(path));
	for (size_t i = 0; i < mapping->n_path; i++)
		path[i] = (char)('!' + random_below(random, 90));
	mapping->path = path;
	mapping->dev = random_wide(random);
	mapping->ino = random_wide(random);
	mapping->file_offset = random_wide(random);
	mapping->len = random_wide(random);
}

struct event random_event(struct random *random)
{
	struct event event = {
	        .type = random_below(random, EVENT_N_TYPES),
	        .pid = (uint32_t)random_wide(random),
	        .tid = (uint32_t)random_wide(random),
	        .timestamp = random_wide(random),
	        .addr = random_wide(random),
	};

	if (event_is_allocation(event.type) || (event.type >= EVENT_MMAP && event.type <= EVENT_BRK))
		event.size = random_wide(random);
	if (event_is_allocation(event.type) && random_below(random, 2))
		event.stack_hash = random_wide(random);
	if (event.type == EVENT_REALLOC && random_below(random, 2)) {
		event.old_addr = random_wide(random) | 1;
		event.entered = random_wide(random);
	}
	if (event.type == EVENT_FORK) {
		event.parent_pid = (uint32_t)random_wide(random);
		event.shares_memory = random_below(random, 2);
	}
	if (event.type == EVENT_MAPPING)
		random_mapping(random, &event.mapping);
	if (event.type == EVENT_STACK_DEFINITION)
		random_definition(random, &event.stack);
	return event;
}

static bool mapping_equal(const struct event_mapping *a, const struct event_mapping *b)
{
	return a->n_path == b->n_path && (a->n_path == 0 || memcmp(a->path, b->path, a->n_path) == 0) &&
	       a->dev == b->dev && a->ino == b->ino && a->file_offset == b->file_offset && a->len == b->len;
}

static bool stack_equal(const struct event_stack *a, const struct event_stack *b)
{
	return a->hash == b->hash && a->sp == b->sp && memcmp(a->regs, b->regs, sizeof(a->regs)) == 0 &&
	       a->n_bytes == b->n_bytes && (a->n_bytes == 0 || memcmp(a->bytes, b->bytes, a->n_bytes) == 0) &&
	       a->n_fp_chain == b->n_fp_chain &&
	       (a->n_fp_chain == 0 || memcmp(a->fp_chain, b->fp_chain, 8 * a->n_fp_chain) == 0) &&
	       a->truncated == b->truncated;
}

bool event_equal(const struct event *a, const struct event *b)
{
	return a->type == b->type && a->pid == b->pid && a->tid == b->tid && a->timestamp == b->timestamp &&
	       a->addr == b->addr && a->size == b->size && a->stack_hash == b->stack_hash &&
	       a->old_addr == b->old_addr && a->entered == b->entered && a->parent_pid == b->parent_pid &&
	       a->shares_memory == b->shares_memory && mapping_equal(&a->mapping, &b->mapping) &&
	       stack_equal(&a->stack, &b->stack);
}

int temporary_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	cr_assert_geq(fd, 0, "a temporary file");
	return fd;
}

void rewind_fd(int fd)
{
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
}

void write_frame_of(int fd, const void *bytes, size_t n)
{
	size_t n_bound = ZSTD_compressBound(n);
	CLEANUP_FREE uint8_t *frame = malloc(n_bound);
	size_t n_frame = ZSTD_compress(frame, n_bound, bytes, n, -1);

	cr_assert(!ZSTD_isError(n_frame));
	cr_assert_eq(file_write_all(fd, frame, n_frame), 0);
}
