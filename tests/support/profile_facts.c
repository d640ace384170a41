/* profile_facts.c: what tests ask a loaded profile. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"
#include "support/profile.h"
#include "util/cleanup.h"

static int compare_u64(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

size_t profile_n_allocations(const struct profile *profile)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->n_calls; i++)
		n += event_is_allocation(profile->calls[i].type);
	return n;
}

size_t profile_n_hashes(const struct profile *profile)
{
	CLEANUP_FREE uint64_t *hashes = test_alloc(profile->n_calls, sizeof(*hashes));
	size_t n = 0, n_distinct = 0;

	for (size_t i = 0; i < profile->n_calls; i++)
		if (profile->calls[i].stack_hash)
			hashes[n++] = profile->calls[i].stack_hash;
	qsort(hashes, n, sizeof(*hashes), compare_u64);
	for (size_t i = 0; i < n; i++)
		n_distinct += i == 0 || hashes[i] != hashes[i - 1];
	return n_distinct;
}

size_t profile_n_without_stack(const struct profile *profile)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->n_calls; i++)
		n += event_is_allocation(profile->calls[i].type) && profile->calls[i].stack_hash == 0;
	return n;
}

size_t profile_n_undefined(const struct profile *profile)
{
	CLEANUP_FREE uint64_t *defined = test_alloc(profile->n_definitions, sizeof(*defined));
	size_t n = 0;

	for (size_t i = 0; i < profile->n_definitions; i++)
		defined[i] = profile->definitions[i].hash;
	qsort(defined, profile->n_definitions, sizeof(*defined), compare_u64);
	for (size_t i = 0; i < profile->n_calls; i++) {
		uint64_t hash = profile->calls[i].stack_hash;

		n += hash != 0 && !bsearch(&hash, defined, profile->n_definitions, sizeof(hash), compare_u64);
	}
	return n;
}

uint64_t profile_n_lost(const struct profile *profile)
{
	struct json_object *lost;
	uint64_t sum = 0;

	if (!json_object_object_get_ex(profile->metadata, "lost", &lost))
		return UINT64_MAX;
	json_object_object_foreach(lost, name, value)
	{
		if (json_object_get_uint64(value) != 0)
			fprintf(stderr, "  lost: %s = %" PRIu64 "\n", name, json_object_get_uint64(value));
		sum += json_object_get_uint64(value);
	}
	return sum;
}

size_t profile_n_not_traced(const struct profile *profile)
{
	struct json_object *list;

	if (!json_object_object_get_ex(profile->metadata, "not_traced", &list))
		return 0;
	return json_object_array_length(list);
}

const char *profile_process_name(const struct profile *profile, uint32_t pid)
{
	struct json_object *names, *name;
	CLEANUP_FREE char *key = test_text("%" PRIu32, pid);

	if (!json_object_object_get_ex(profile->metadata, "process_names", &names) ||
	        !json_object_object_get_ex(names, key, &name))
		return NULL;
	return json_object_get_string(name);
}

size_t profile_count_named(const struct profile *profile, const char *name)
{
	struct json_object *names;
	size_t n = 0;

	if (!json_object_object_get_ex(profile->metadata, "process_names", &names))
		return 0;
	json_object_object_foreach(names, pid, value)
	{
		(void)pid;
		n += strcmp(json_object_get_string(value), name) == 0;
	}
	return n;
}

size_t profile_count_other(const struct profile *profile, enum event_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->n_others; i++)
		n += profile->others[i].type == type;
	return n;
}

const struct profile_other *profile_find_other(
        const struct profile *profile, enum event_type type, uint32_t pid)
{
	for (size_t i = 0; i < profile->n_others; i++)
		if (profile->others[i].type == type && profile->others[i].pid == pid)
			return &profile->others[i];
	return NULL;
}
