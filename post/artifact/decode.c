/* decode.c: one event out of a buffer of MessagePack. */
#include "artifact/decode.h"

#include <stdlib.h>
#include <string.h>

#include "artifact/cursor.h"
#include "artifact/names.h"
#include "util/cleanup.h"
#include "util/grow.h"

enum field {
	FIELD_PID,
	FIELD_TID,
	FIELD_TIMESTAMP,
	FIELD_ADDR,
	FIELD_TYPE,
	FIELD_SIZE,
	FIELD_STACK_HASH,
	FIELD_OLD_ADDR,
	FIELD_ENTERED,
	FIELD_PARENT_PID,
	FIELD_SHARES_MEMORY,
	FIELD_PATH,
	FIELD_DEV,
	FIELD_INO,
	FIELD_FILE_OFFSET,
	FIELD_LEN,
	FIELD_HASH,
	FIELD_SP,
	FIELD_REGS,
	FIELD_BYTES,
	FIELD_FP_CHAIN,
	FIELD_TRUNCATED,
	FIELD_N,
};

#define BIT(field) (1u << (field))

#define HEAD_FIELDS                                                                                          \
	(BIT(FIELD_PID) | BIT(FIELD_TID) | BIT(FIELD_TIMESTAMP) | BIT(FIELD_ADDR) | BIT(FIELD_TYPE))
#define MAPPING_FIELDS                                                                                       \
	(BIT(FIELD_PATH) | BIT(FIELD_DEV) | BIT(FIELD_INO) | BIT(FIELD_FILE_OFFSET) | BIT(FIELD_LEN))
#define STACK_FIELDS                                                                                         \
	(BIT(FIELD_HASH) | BIT(FIELD_SP) | BIT(FIELD_REGS) | BIT(FIELD_BYTES) | BIT(FIELD_FP_CHAIN) |        \
	        BIT(FIELD_TRUNCATED))

/* Besides the head. */
static const struct {
	uint32_t required;
	uint32_t optional;
} fields_of[EVENT_N_TYPES] = {
        [EVENT_MALLOC] = {BIT(FIELD_SIZE), BIT(FIELD_STACK_HASH)},
        [EVENT_CALLOC] = {BIT(FIELD_SIZE), BIT(FIELD_STACK_HASH)},
        [EVENT_ALIGNED_ALLOC] = {BIT(FIELD_SIZE), BIT(FIELD_STACK_HASH)},
        [EVENT_REALLOC] = {BIT(FIELD_SIZE), BIT(FIELD_STACK_HASH) | BIT(FIELD_OLD_ADDR) | BIT(FIELD_ENTERED)},
        [EVENT_MMAP] = {BIT(FIELD_SIZE), 0},
        [EVENT_MUNMAP] = {BIT(FIELD_SIZE), 0},
        [EVENT_BRK] = {BIT(FIELD_SIZE), 0},
        [EVENT_FORK] = {BIT(FIELD_PARENT_PID), BIT(FIELD_SHARES_MEMORY)},
        [EVENT_MAPPING] = {MAPPING_FIELDS, 0},
        [EVENT_STACK_DEFINITION] = {STACK_FIELDS, 0},
};

/* What the fields of a map are before its type is known. */
struct parts {
	struct event_decoder *decoder;
	uint32_t seen;
	uint32_t wrong; /* fields of the wrong type or range */
	int error;
	const uint8_t *type;
	size_t n_type;
	uint64_t uints[FIELD_N];
	bool shares_memory;
	bool truncated;
	const uint8_t *path;
	size_t n_path;
	const uint8_t *bytes;
	size_t n_bytes;
	size_t n_fp_chain;
	uint64_t regs[EVENT_N_REGS];
};

#define KEY_IS(key, text) (memcmp(key, text, sizeof(text) - 1) == 0)

static enum field field_of_long_key(const uint8_t *key, size_t n)
{
	switch (n) {
	case 7:
		return KEY_IS(key, "entered") ? FIELD_ENTERED : FIELD_N;
	case 8:
		if (KEY_IS(key, "old_addr"))
			return FIELD_OLD_ADDR;
		return KEY_IS(key, "fp_chain") ? FIELD_FP_CHAIN : FIELD_N;
	case 9:
		if (KEY_IS(key, "timestamp"))
			return FIELD_TIMESTAMP;
		return KEY_IS(key, "truncated") ? FIELD_TRUNCATED : FIELD_N;
	case 10:
		if (KEY_IS(key, "stack_hash"))
			return FIELD_STACK_HASH;
		return KEY_IS(key, "parent_pid") ? FIELD_PARENT_PID : FIELD_N;
	case 11:
		return KEY_IS(key, "file_offset") ? FIELD_FILE_OFFSET : FIELD_N;
	case 13:
		return KEY_IS(key, "shares_memory") ? FIELD_SHARES_MEMORY : FIELD_N;
	default:
		return FIELD_N;
	}
}

static enum field field_of_four(const uint8_t *key)
{
	static const struct {
		char text[5];
		enum field field;
	} keys[] = {
	        {"addr", FIELD_ADDR},
	        {"type", FIELD_TYPE},
	        {"size", FIELD_SIZE},
	        {"path", FIELD_PATH},
	        {"hash", FIELD_HASH},
	        {"regs", FIELD_REGS},
	};

	for (size_t i = 0; i < N_ELEMENTS(keys); i++)
		if (memcmp(key, keys[i].text, 4) == 0)
			return keys[i].field;
	return FIELD_N;
}

static inline enum field field_of_key(const uint8_t *key, size_t n)
{
	switch (n) {
	case 2:
		return KEY_IS(key, "sp") ? FIELD_SP : FIELD_N;
	case 3:
		if (KEY_IS(key, "pid"))
			return FIELD_PID;
		if (KEY_IS(key, "tid"))
			return FIELD_TID;
		if (KEY_IS(key, "dev"))
			return FIELD_DEV;
		if (KEY_IS(key, "ino"))
			return FIELD_INO;
		return KEY_IS(key, "len") ? FIELD_LEN : FIELD_N;
	case 4:
		return field_of_four(key);
	case 5:
		return KEY_IS(key, "bytes") ? FIELD_BYTES : FIELD_N;
	default:
		return field_of_long_key(key, n);
	}
}

/* All n values of an array whose head was read. CURSOR_OTHER where one is no unsigned integer. */
static enum cursor_result read_uints(struct cursor *cursor, uint64_t *ret_values, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		enum cursor_result r = cursor_uint(cursor, &ret_values[i]);

		if (r != CURSOR_OK)
			return r;
	}
	return CURSOR_OK;
}

static enum cursor_result read_regs(struct cursor *cursor, struct parts *parts)
{
	uint64_t n;
	enum cursor_result r = cursor_array(cursor, &n);

	if (r != CURSOR_OK)
		return r;
	return n == EVENT_N_REGS ? read_uints(cursor, parts->regs, n) : CURSOR_OTHER;
}

static enum cursor_result read_fp_chain(struct cursor *cursor, struct parts *parts)
{
	struct event_decoder *decoder = parts->decoder;
	uint64_t n;
	enum cursor_result r = cursor_array(cursor, &n);

	if (r != CURSOR_OK)
		return r;
	if (n > cursor_left(cursor)) /* a byte each at least, so that the buffer bounds the memory */
		return CURSOR_MORE;
	parts->error = grow_array(&decoder->fp_chain, &decoder->n_fp_chain_allocated, n, sizeof(uint64_t));
	if (parts->error < 0)
		return CURSOR_BAD;
	parts->n_fp_chain = n;
	return read_uints(cursor, decoder->fp_chain, n);
}

static enum cursor_result read_known(struct cursor *cursor, struct parts *parts, enum field field)
{
	switch (field) {
	case FIELD_TYPE:
		return cursor_str(cursor, &parts->type, &parts->n_type);
	case FIELD_PATH:
		return cursor_str(cursor, &parts->path, &parts->n_path);
	case FIELD_BYTES:
		return cursor_bin(cursor, &parts->bytes, &parts->n_bytes);
	case FIELD_SHARES_MEMORY:
		return cursor_bool(cursor, &parts->shares_memory);
	case FIELD_TRUNCATED:
		return cursor_bool(cursor, &parts->truncated);
	case FIELD_REGS:
		return read_regs(cursor, parts);
	case FIELD_FP_CHAIN:
		return read_fp_chain(cursor, parts);
	default:
		return cursor_uint(cursor, &parts->uints[field]);
	}
}

static inline enum cursor_result read_entry(struct cursor *cursor, struct parts *parts)
{
	struct cursor value;
	const uint8_t *key;
	size_t n_key;
	enum field field = FIELD_N;
	enum cursor_result r = cursor_str(cursor, &key, &n_key);

	if (r == CURSOR_OK)
		field = field_of_key(key, n_key);
	else if (r == CURSOR_OTHER)
		r = cursor_skip(cursor);
	if (r != CURSOR_OK)
		return r;
	if (field == FIELD_N)
		return cursor_skip(cursor);
	value = *cursor;
	r = read_known(cursor, parts, field);
	if (r == CURSOR_OTHER) {
		*cursor = value;
		parts->wrong |= BIT(field);
		return cursor_skip(cursor);
	}
	parts->seen |= BIT(field);
	parts->wrong &= ~BIT(field);
	return r;
}

static bool find_type(const uint8_t *text, size_t n, enum event_type *ret_type)
{
	for (enum event_type type = 0; type < EVENT_N_TYPES; type++)
		if (event_names[type].n == n && memcmp(event_names[type].text, text, n) == 0) {
			*ret_type = type;
			return true;
		}
	if (n == strlen("Stack") && memcmp(text, "Stack", n) == 0) {
		*ret_type = EVENT_STACK_DEFINITION;
		return true;
	}
	return false;
}

static void fill_stack(const struct parts *parts, struct event_stack *stack)
{
	stack->hash = parts->uints[FIELD_HASH];
	stack->sp = parts->uints[FIELD_SP];
	memcpy(stack->regs, parts->regs, sizeof(stack->regs));
	stack->bytes = parts->bytes;
	stack->n_bytes = parts->n_bytes;
	stack->fp_chain = parts->decoder->fp_chain;
	stack->n_fp_chain = parts->n_fp_chain;
	stack->truncated = parts->truncated;
}

static void fill_mapping(const struct parts *parts, struct event_mapping *mapping)
{
	mapping->path = (const char *)parts->path;
	mapping->n_path = parts->n_path;
	mapping->dev = parts->uints[FIELD_DEV];
	mapping->ino = parts->uints[FIELD_INO];
	mapping->file_offset = parts->uints[FIELD_FILE_OFFSET];
	mapping->len = parts->uints[FIELD_LEN];
}

static uint64_t uint_if(const struct parts *parts, uint32_t fields, enum field field)
{
	return parts->seen & fields & BIT(field) ? parts->uints[field] : 0;
}

/* A map of a type that is ours, all of whose fields are there and right, becomes an event. */
static int fill_event(const struct parts *parts, enum event_type type, struct event *event)
{
	uint32_t required = HEAD_FIELDS | fields_of[type].required;
	uint32_t all = required | fields_of[type].optional;
	const uint64_t *uints = parts->uints;

	if ((parts->seen & required) != required || (parts->wrong & all))
		return EVENT_DECODE_MALFORMED;
	if (uints[FIELD_PID] > UINT32_MAX || uints[FIELD_TID] > UINT32_MAX)
		return EVENT_DECODE_MALFORMED;
	memset(event, 0, sizeof(*event));
	event->type = type;
	event->pid = (uint32_t)uints[FIELD_PID];
	event->tid = (uint32_t)uints[FIELD_TID];
	event->timestamp = uints[FIELD_TIMESTAMP];
	event->addr = uints[FIELD_ADDR];
	event->size = uint_if(parts, all, FIELD_SIZE);
	event->stack_hash = uint_if(parts, all, FIELD_STACK_HASH);
	event->old_addr = uint_if(parts, all, FIELD_OLD_ADDR);
	if (event->old_addr) /* written without `entered` by others: the block ends when the call returns */
		event->entered = parts->seen & BIT(FIELD_ENTERED) ? uints[FIELD_ENTERED] : event->timestamp;
	if (type == EVENT_FORK) {
		if (uints[FIELD_PARENT_PID] > UINT32_MAX)
			return EVENT_DECODE_MALFORMED;
		event->parent_pid = (uint32_t)uints[FIELD_PARENT_PID];
		event->shares_memory = parts->seen & BIT(FIELD_SHARES_MEMORY) ? parts->shares_memory : false;
	}
	if (type == EVENT_MAPPING)
		fill_mapping(parts, &event->mapping);
	if (type == EVENT_STACK_DEFINITION) {
		if (uints[FIELD_HASH] == 0)
			return EVENT_DECODE_MALFORMED;
		fill_stack(parts, &event->stack);
	}
	return EVENT_DECODE_OK;
}

int event_decode(struct event_decoder *decoder, const uint8_t *data, size_t n, size_t *ret_n_used,
        struct event *ret_event)
{
	struct cursor cursor = {.at = data, .end = data + n};
	struct parts parts;
	enum event_type type;
	uint64_t n_entries;
	enum cursor_result r = cursor_map(&cursor, &n_entries);

	parts.decoder = decoder;
	parts.seen = parts.wrong = 0;
	parts.error = 0;
	for (uint64_t i = 0; r == CURSOR_OK && i < n_entries; i++)
		r = read_entry(&cursor, &parts);
	if (parts.error < 0)
		return parts.error;
	if (r != CURSOR_OK)
		return r == CURSOR_MORE ? EVENT_DECODE_MORE : EVENT_DECODE_BAD;
	*ret_n_used = (size_t)(cursor.at - data);
	if (!(parts.seen & BIT(FIELD_TYPE)) || (parts.wrong & BIT(FIELD_TYPE)))
		return EVENT_DECODE_MALFORMED;
	if (parts.n_type == 0 || !find_type(parts.type, parts.n_type, &type))
		return EVENT_DECODE_UNKNOWN;
	return fill_event(&parts, type, ret_event);
}

void event_decoder_deinit(struct event_decoder *decoder)
{
	free(decoder->fp_chain);
	decoder->fp_chain = NULL;
	decoder->n_fp_chain_allocated = 0;
}
