/* encode.c: events to MessagePack.
 *
 * This is the hot path of a recording. Room for the whole event is made first, so that the packer's callback
 * is an unchecked copy the compiler folds into the packing itself.
 */
#include "artifact/encode.h"

#include <errno.h>
#include <string.h>

#include "util/grow.h"

/* More than all fixed keys, the type name and the integers of any event take, registers included. */
#define FIXED_MAX     1024
#define INT_MAX_BYTES 9

static inline int append(void *data, const char *bytes, size_t n)
{
	msgpack_sbuffer *buffer = data;

	memcpy(buffer->data + buffer->size, bytes, n);
	buffer->size += n;
	return 0;
}

#define PACK_KEY(packer, key)                                                                                \
	do {                                                                                                 \
		msgpack_pack_str(packer, sizeof(key) - 1);                                                   \
		msgpack_pack_str_body(packer, key, sizeof(key) - 1);                                         \
	} while (0)

#define PACK_UINT(packer, key, value)                                                                        \
	do {                                                                                                 \
		PACK_KEY(packer, key);                                                                       \
		msgpack_pack_uint64(packer, value);                                                          \
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

static inline void pack_head(msgpack_packer *packer, const struct event *event, size_t n_fields)
{
	const char *name = event_type_name(event->type);
	size_t n_name = strlen(name);

	msgpack_pack_map(packer, 5 + n_fields);
	PACK_UINT(packer, "pid", event->pid);
	PACK_UINT(packer, "tid", event->tid);
	PACK_UINT(packer, "timestamp", event->timestamp);
	PACK_UINT(packer, "addr", event->addr);
	PACK_KEY(packer, "type");
	msgpack_pack_str(packer, n_name);
	msgpack_pack_str_body(packer, name, n_name);
}

static void pack_allocation(msgpack_packer *packer, const struct event *event)
{
	bool has_old = event->type == EVENT_REALLOC && event->old_addr;

	pack_head(packer, event, 1 + (event->stack_hash != 0) + 2 * has_old);
	if (has_old)
		PACK_UINT(packer, "old_addr", event->old_addr);
	PACK_UINT(packer, "size", event->size);
	if (event->stack_hash)
		PACK_UINT(packer, "stack_hash", event->stack_hash);
	if (has_old)
		PACK_UINT(packer, "entered", event->entered);
}

static void pack_bool(msgpack_packer *packer, bool value)
{
	if (value)
		msgpack_pack_true(packer);
	else
		msgpack_pack_false(packer);
}

static void pack_fork(msgpack_packer *packer, const struct event *event)
{
	pack_head(packer, event, 1 + event->shares_memory);
	PACK_UINT(packer, "parent_pid", event->parent_pid);
	if (event->shares_memory) {
		PACK_KEY(packer, "shares_memory");
		msgpack_pack_true(packer);
	}
}

static void pack_mapping(msgpack_packer *packer, const struct event *event)
{
	const struct event_mapping *mapping = &event->mapping;

	pack_head(packer, event, 5);
	PACK_KEY(packer, "path");
	msgpack_pack_str(packer, mapping->n_path);
	msgpack_pack_str_body(packer, mapping->path, mapping->n_path);
	PACK_UINT(packer, "dev", mapping->dev);
	PACK_UINT(packer, "ino", mapping->ino);
	PACK_UINT(packer, "file_offset", mapping->file_offset);
	PACK_UINT(packer, "len", mapping->len);
}

static void pack_uints(msgpack_packer *packer, const uint64_t *values, size_t n)
{
	msgpack_pack_array(packer, n);
	for (size_t i = 0; i < n; i++)
		msgpack_pack_uint64(packer, values[i]);
}

static void pack_definition(msgpack_packer *packer, const struct event *event)
{
	const struct event_stack *stack = &event->stack;

	pack_head(packer, event, 6);
	PACK_UINT(packer, "hash", stack->hash);
	PACK_UINT(packer, "sp", stack->sp);
	PACK_KEY(packer, "regs");
	pack_uints(packer, stack->regs, EVENT_N_REGS);
	PACK_KEY(packer, "bytes");
	msgpack_pack_bin(packer, stack->n_bytes);
	if (stack->n_bytes)
		msgpack_pack_bin_body(packer, stack->bytes, stack->n_bytes);
	PACK_KEY(packer, "fp_chain");
	pack_uints(packer, stack->fp_chain, stack->n_fp_chain);
	PACK_KEY(packer, "truncated");
	pack_bool(packer, stack->truncated);
}

int event_encode(msgpack_sbuffer *buffer, const struct event *event)
{
	msgpack_packer packer = {.data = buffer, .callback = append};
	int r = make_room(buffer, event);

	if (r < 0)
		return r;
	switch (event->type) {
	case EVENT_MALLOC:
	case EVENT_CALLOC:
	case EVENT_ALIGNED_ALLOC:
	case EVENT_REALLOC:
		pack_allocation(&packer, event);
		break;
	case EVENT_MMAP:
	case EVENT_MUNMAP:
	case EVENT_BRK:
		pack_head(&packer, event, 1);
		PACK_UINT(&packer, "size", event->size);
		break;
	case EVENT_FORK:
		pack_fork(&packer, event);
		break;
	case EVENT_MAPPING:
		pack_mapping(&packer, event);
		break;
	case EVENT_STACK_DEFINITION:
		pack_definition(&packer, event);
		break;
	case EVENT_FREE:
	case EVENT_EXEC:
	case EVENT_EXIT:
		pack_head(&packer, event, 0);
		break;
	case EVENT_N_TYPES:
		return -EINVAL;
	}
	return 0;
}
