/* texts.c: a set of texts that hold for its whole life. */
#include "resolve/texts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/utf8.h"

#define FIRST_SLOTS 1024

struct string {
	struct string *next; /* with the same slot */
	uint64_t hash;
	size_t n;
	char text[];
};

struct texts {
	struct string **slots;
	size_t n_slots; /* a power of two */
	size_t n_strings;
};

int texts_new(struct texts **ret_texts)
{
	struct texts *texts = calloc(1, sizeof(*texts));

	if (!texts)
		return -ENOMEM;
	texts->slots = calloc(FIRST_SLOTS, sizeof(texts->slots[0]));
	if (!texts->slots) {
		free(texts);
		return -ENOMEM;
	}
	texts->n_slots = FIRST_SLOTS;
	*ret_texts = texts;
	return 0;
}

/* FNV-1a, with the high bits mixed into the low ones that choose the slot. */
static uint64_t hash_of(const char *text, size_t n)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

static int grow(struct texts *texts)
{
	size_t n_slots = texts->n_slots * 2;
	struct string **slots = calloc(n_slots, sizeof(slots[0]));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < texts->n_slots; i++) {
		for (struct string *string = texts->slots[i], *next; string; string = next) {
			next = string->next;
			string->next = slots[string->hash & (n_slots - 1)];
			slots[string->hash & (n_slots - 1)] = string;
		}
	}
	free(texts->slots);
	texts->slots = slots;
	texts->n_slots = n_slots;
	return 0;
}

/* The length of the character at `text`; 0: there is none that can be printed. */
static size_t printable_length(const char *text, size_t n)
{
	if ((uint8_t)text[0] < 0x20 || text[0] == 0x7f)
		return 0;
	return utf8_length(text, n);
}

static void clean(char *text, size_t n)
{
	for (size_t i = 0, length; i < n; i += length) {
		length = printable_length(text + i, n - i);
		if (length == 0) {
			text[i] = '?';
			length = 1;
		}
	}
}

static int add_clean(struct texts *texts, const char *text, size_t n, const char **ret_string)
{
	uint64_t hash = hash_of(text, n);
	struct string *string;

	for (string = texts->slots[hash & (texts->n_slots - 1)]; string; string = string->next) {
		if (string->hash == hash && string->n == n && memcmp(string->text, text, n) == 0) {
			*ret_string = string->text;
			return 0;
		}
	}
	if (texts->n_strings >= texts->n_slots && grow(texts) < 0)
		return -ENOMEM;
	string = malloc(sizeof(*string) + n + 1);
	if (!string)
		return -ENOMEM;
	string->hash = hash;
	string->n = n;
	memcpy(string->text, text, n);
	string->text[n] = '\0';
	string->next = texts->slots[hash & (texts->n_slots - 1)];
	texts->slots[hash & (texts->n_slots - 1)] = string;
	texts->n_strings++;
	*ret_string = string->text;
	return 0;
}

static bool is_clean(const char *text, size_t n)
{
	for (size_t i = 0, length; i < n; i += length) {
		length = printable_length(text + i, n - i);
		if (length == 0)
			return false;
	}
	return true;
}

int texts_add(struct texts *texts, const char *text, size_t n, const char **ret_string)
{
	CLEANUP_FREE char *copy = NULL;

	if (is_clean(text, n))
		return add_clean(texts, text, n, ret_string);
	copy = malloc(n);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, n);
	clean(copy, n);
	return add_clean(texts, copy, n, ret_string);
}

struct texts *texts_free(struct texts *texts)
{
	if (!texts)
		return NULL;
	for (size_t i = 0; i < texts->n_slots; i++) {
		for (struct string *string = texts->slots[i], *next; string; string = next) {
			next = string->next;
			free(string);
		}
	}
	free(texts->slots);
	free(texts);
	return NULL;
}
