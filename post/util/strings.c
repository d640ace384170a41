/* strings.c: a set of texts. */
#include "util/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

#define N_BUCKETS_FIRST 256

static uint64_t hash_of(const char *text, size_t n)
{
	uint64_t hash = n;

	for (; n >= 8; n -= 8, text += 8) {
		uint64_t word;

		memcpy(&word, text, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	for (; n > 0; n--, text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

const char *strings_get(const struct strings *strings, uint32_t number)
{
	return number ? strings->bytes + strings->offsets[number - 1] : "";
}

/* The bucket that holds the text, or the free one where it belongs. */
static uint32_t *bucket_of(const struct strings *strings, const char *text, size_t n)
{
	size_t i = hash_of(text, n) & (strings->n_buckets - 1);

	while (strings->buckets[i]) {
		const char *other = strings_get(strings, strings->buckets[i]);

		if (strncmp(other, text, n) == 0 && other[n] == '\0')
			break;
		i = (i + 1) & (strings->n_buckets - 1);
	}
	return &strings->buckets[i];
}

static int grow_buckets(struct strings *strings)
{
	size_t n_buckets = strings->n_buckets ? strings->n_buckets * 2 : N_BUCKETS_FIRST;
	uint32_t *buckets = calloc(n_buckets, sizeof(buckets[0]));

	if (!buckets)
		return -ENOMEM;
	free(strings->buckets);
	strings->buckets = buckets;
	strings->n_buckets = n_buckets;
	for (uint32_t number = 1; number <= strings->n; number++) {
		const char *text = strings_get(strings, number);

		*bucket_of(strings, text, strlen(text)) = number;
	}
	return 0;
}

static int append(struct strings *strings, const char *text, size_t n)
{
	int r = GROW_BY_ONE(strings->offsets, strings->n_allocated, strings->n);

	if (r >= 0)
		r = grow_array(&strings->bytes, &strings->n_bytes_allocated, strings->n_bytes + n + 1, 1);
	if (r < 0)
		return r;
	strings->offsets[strings->n++] = strings->n_bytes;
	memcpy(strings->bytes + strings->n_bytes, text, n);
	strings->bytes[strings->n_bytes + n] = '\0';
	strings->n_bytes += n + 1;
	return 0;
}

int strings_add(struct strings *strings, const char *text, size_t n, uint32_t *ret_number)
{
	uint32_t *bucket;
	int r = 0;

	if (n == 0) {
		*ret_number = 0;
		return 0;
	}
	if (strings->n >= UINT32_MAX - 1)
		return -ENOMEM;
	if (strings->n >= strings->n_buckets / 2)
		r = grow_buckets(strings);
	if (r < 0)
		return r;
	bucket = bucket_of(strings, text, n);
	if (!*bucket) {
		r = append(strings, text, n);
		if (r < 0)
			return r;
		*bucket = (uint32_t)strings->n;
	}
	*ret_number = *bucket;
	return 0;
}

void strings_deinit(struct strings *strings)
{
	free(strings->bytes);
	free(strings->offsets);
	free(strings->buckets);
	*strings = (struct strings){0};
}
