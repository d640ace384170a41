/* string_pool.c: interned strings in blocks that never move. */
#include "util/string_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

#define BLOCK_BYTES (256 * 1024)
#define MIN_SLOTS   1024

struct block {
	struct block *next;
	size_t n_used, n_allocated;
	char bytes[];
};

struct entry {
	const char *text;
	uint64_t hash;
};

struct string_pool {
	struct block *blocks;
	struct entry *entries;
	size_t n_entries, n_allocated;
	uint32_t *slots; /* number + 1; 0: free */
	size_t n_slots;  /* a power of two */
};

/* FNV-1a. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash ^ hash >> 32;
}

static size_t find_slot(const struct string_pool *strings, const char *text, uint64_t hash)
{
	size_t slot = hash & (strings->n_slots - 1);
	const struct entry *entry;

	for (; strings->slots[slot]; slot = (slot + 1) & (strings->n_slots - 1)) {
		entry = &strings->entries[strings->slots[slot] - 1];
		if (entry->hash == hash && strcmp(entry->text, text) == 0)
			break;
	}
	return slot;
}

static int grow_slots(struct string_pool *strings)
{
	size_t n_slots = strings->n_slots ? strings->n_slots * 2 : MIN_SLOTS;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));
	size_t i, slot;

	if (!slots)
		return -ENOMEM;
	for (i = 0; i < strings->n_entries; i++) {
		slot = strings->entries[i].hash & (n_slots - 1);
		while (slots[slot])
			slot = (slot + 1) & (n_slots - 1);
		slots[slot] = (uint32_t)i + 1;
	}
	free(strings->slots);
	strings->slots = slots;
	strings->n_slots = n_slots;
	return 0;
}

static const char *copy_text(struct string_pool *strings, const char *text)
{
	size_t n = strlen(text) + 1;
	struct block *block = strings->blocks;
	size_t n_bytes = n > BLOCK_BYTES ? n : BLOCK_BYTES;
	char *copy;

	if (!block || block->n_allocated - block->n_used < n) {
		block = malloc(sizeof(*block) + n_bytes);
		if (!block)
			return NULL;
		*block = (struct block){.next = strings->blocks, .n_allocated = n_bytes};
		strings->blocks = block;
	}
	copy = block->bytes + block->n_used;
	memcpy(copy, text, n);
	block->n_used += n;
	return copy;
}

int string_pool_add(struct string_pool *strings, const char *text, uint32_t *ret_id)
{
	uint64_t hash = hash_text(text ? text : "");
	const char *copy;
	size_t slot;
	int error;

	if (!text)
		text = "";
	if (strings->n_entries >= strings->n_slots / 2) {
		error = grow_slots(strings);
		if (error < 0)
			return error;
	}
	slot = find_slot(strings, text, hash);
	if (strings->slots[slot]) {
		*ret_id = strings->slots[slot] - 1;
		return 0;
	}
	if (strings->n_entries >= UINT32_MAX - 1)
		return -E2BIG;
	error = GROW_BY_ONE(strings->entries, strings->n_allocated, strings->n_entries);
	if (error < 0)
		return error;
	copy = copy_text(strings, text);
	if (!copy)
		return -ENOMEM;
	strings->entries[strings->n_entries] = (struct entry){.text = copy, .hash = hash};
	*ret_id = (uint32_t)strings->n_entries++;
	strings->slots[slot] = *ret_id + 1;
	return 0;
}

int string_pool_new(struct string_pool **ret_strings)
{
	struct string_pool *strings = calloc(1, sizeof(*strings));
	uint32_t empty;

	if (!strings)
		return -ENOMEM;
	if (string_pool_add(strings, "", &empty) < 0) {
		string_pool_free(strings);
		return -ENOMEM;
	}
	*ret_strings = strings;
	return 0;
}

const char *string_pool_get(const struct string_pool *strings, uint32_t id)
{
	return strings->entries[id].text;
}

size_t string_pool_count(const struct string_pool *strings)
{
	return strings->n_entries;
}

struct string_pool *string_pool_free(struct string_pool *strings)
{
	struct block *next;

	if (!strings)
		return NULL;
	for (struct block *block = strings->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	free(strings->entries);
	free(strings->slots);
	free(strings);
	return NULL;
}
