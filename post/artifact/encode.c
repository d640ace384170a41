/* encode.c: events to MessagePack.
 *
 * This is the hot path of a recording. Room for the whole event is made first; then msgpack-c's packing
 * routines are instantiated a second time, with an unchecked copy as their way to append, which the compiler
 * folds into them: through the usual callback the same takes several times as long.
 */
#include "artifact/encode.h"

#include <errno.h>
#include <string.h>

#include "artifact/names.h"
#include "util/grow.h"

/* put_…: msgpack_pack_…, but appending at packer->data, which moves on. */
#define msgpack_pack_inline_func(name) static inline __attribute__((always_inline)) int put##name
#define msgpack_pack_user              msgpack_packer *
#define msgpack_pack_append_buffer(packer, bytes, n)                                                         \
	do {                                                                                                 \
		memcpy((packer)->data, bytes, n);                                                            \
		(packer)->data = (uint8_t *)(packer)->data + n;                                              \
		return 0;                                                                                    \
	} while (0)
#include <msgpack/pack_template.h>

/* More than all fixed keys, the type name and the integers of any event take, registers included. */
#define FIXED_MAX     1024
#define INT_MAX_BYTES 9

#define PUT_KEY(packer, key)                                                                                 \
	do {                                                                                                 \
		put_str(packer, sizeof(key) - 1);                                                            \
		put_str_body(packer, key, sizeof(key) - 1);                                                  \
	} while (0)

#define PUT_UINT(packer, key, value)                                                                         \
	do {                                                                                                 \
		PUT_KEY(packer, key);                                                                        \
		put_uint64(packer, value);                                                                   \
	} while (0)

static int make_room(msgpack_sbuffer *buffer, const struct event *event)
{
	size_t n = FIXED_MAX;

	if (event->type == EVENT_MAPPING)
		n += event->mapping.n_path;
	if (event->type == EVENT_STACK_DEFINITION)
		n += event->stack.n_bytes + event->stack.n_fp_chain * INT_MAX_BYTES;
	return grow_array(&buffer->data, &buffer->alloc, buffer->size + n, 1);
}

/* Whether the block before is named: see FORMATS.md. */
static inline bool has_old_block(const struct event *event)
{
	return event->type == EVENT_REALLOC && event->old_addr;
}

/* How many keys follow those that all events have. */
static inline size_t n_own_keys(const struct event *event)
{
	switch (event->type) {
	case EVENT_MALLOC:
	case EVENT_CALLOC:
	case EVENT_ALIGNED_ALLOC:
	case EVENT_REALLOC:
		return 1u + (event->stack_hash != 0) + 2u * has_old_block(event);
	case EVENT_MMAP:
	case EVENT_MUNMAP:
	case EVENT_BRK:
		return 1;
	case EVENT_FORK:
		return 1u + event->shares_memory;
	case EVENT_MAPPING:
		return 5;
	case EVENT_STACK_DEFINITION:
		return 6;
	default:
		return 0;
	}
}

static inline void put_head(msgpack_packer *packer, const struct event *event)
{
	const struct event_name *name = &event_names[event->type];

	put_map(packer, 5 + n_own_keys(event));
	PUT_UINT(packer, "pid", event->pid);
	PUT_UINT(packer, "tid", event->tid);
	PUT_UINT(packer, "timestamp", event->timestamp);
	PUT_UINT(packer, "addr", event->addr);
	PUT_KEY(packer, "type");
	put_str(packer, name->n);
	memcpy(packer->data, name->text,
	        EVENT_NAME_SIZE); /* there is room, and what is too much is written over */
	packer->data = (uint8_t *)packer->data + name->n;
}

static inline void put_allocation(msgpack_packer *packer, const struct event *event)
{
	bool has_old = has_old_block(event);

	if (has_old)
		PUT_UINT(packer, "old_addr", event->old_addr);
	PUT_UINT(packer, "size", event->size);
	if (event->stack_hash)
		PUT_UINT(packer, "stack_hash", event->stack_hash);
	if (has_old)
		PUT_UINT(packer, "entered", event->entered);
}

static void put_fork(msgpack_packer *packer, const struct event *event)
{
	PUT_UINT(packer, "parent_pid", event->parent_pid);
	if (event->shares_memory) {
		PUT_KEY(packer, "shares_memory");
		put_true(packer);
	}
}

static void put_mapping(msgpack_packer *packer, const struct event_mapping *mapping)
{
	PUT_KEY(packer, "path");
	put_str(packer, mapping->n_path);
	put_str_body(packer, mapping->path, mapping->n_path);
	PUT_UINT(packer, "dev", mapping->dev);
	PUT_UINT(packer, "ino", mapping->ino);
	PUT_UINT(packer, "file_offset", mapping->file_offset);
	PUT_UINT(packer, "len", mapping->len);
}

static void put_uints(msgpack_packer *packer, const uint64_t *values, size_t n)
{
	put_array(packer, n);
	for (size_t i = 0; i < n; i++)
		put_uint64(packer, values[i]);
}

static void put_definition(msgpack_packer *packer, const struct event_stack *stack)
{
	PUT_UINT(packer, "hash", stack->hash);
	PUT_UINT(packer, "sp", stack->sp);
	PUT_KEY(packer, "regs");
	put_uints(packer, stack->regs, EVENT_N_REGS);
	PUT_KEY(packer, "bytes");
	put_bin(packer, stack->n_bytes);
	if (stack->n_bytes)
		put_bin_body(packer, stack->bytes, stack->n_bytes);
	PUT_KEY(packer, "fp_chain");
	put_uints(packer, stack->fp_chain, stack->n_fp_chain);
	PUT_KEY(packer, "truncated");
	if (stack->truncated)
		put_true(packer);
	else
		put_false(packer);
}

/* The fields of a type, other than those of allocations. */
static void put_rest(msgpack_packer *packer, const struct event *event)
{
	switch (event->type) {
	case EVENT_MMAP:
	case EVENT_MUNMAP:
	case EVENT_BRK:
		PUT_UINT(packer, "size", event->size);
		break;
	case EVENT_FORK:
		put_fork(packer, event);
		break;
	case EVENT_MAPPING:
		put_mapping(packer, &event->mapping);
		break;
	case EVENT_STACK_DEFINITION:
		put_definition(packer, &event->stack);
		break;
	default:
		break;
	}
}

int event_encode(msgpack_sbuffer *buffer, const struct event *event)
{
	msgpack_packer packer;
	int r;

	if ((unsigned)event->type >= EVENT_N_TYPES)
		return -EINVAL;
	r = make_room(buffer, event);
	if (r < 0)
		return r;
	packer.data = buffer->data + buffer->size;
	put_head(&packer, event);
	if (event_is_allocation(event->type))
		put_allocation(&packer, event);
	else if (event->type != EVENT_FREE)
		put_rest(&packer, event);
	buffer->size = (size_t)((char *)packer.data - buffer->data);
	return 0;
}
