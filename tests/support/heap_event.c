/* heap_event.c: comparing lists of calls. */
#include "support/heap_event.h"

#include <inttypes.h>
#include <stdlib.h>

#include "support/memory.h"

#define N_SHOWN 8

#define ORDER(a, b)                                                                                          \
	do {                                                                                                 \
		if ((a) != (b))                                                                              \
			return (a) < (b) ? -1 : 1;                                                           \
	} while (0)

int heap_event_compare_shape(const struct heap_event *a, const struct heap_event *b)
{
	ORDER(a->type, b->type);
	ORDER(a->size, b->size);
	return 0;
}

int heap_event_compare_call(const struct heap_event *a, const struct heap_event *b)
{
	ORDER(a->pid, b->pid);
	ORDER(a->tid, b->tid);
	ORDER(a->type, b->type);
	ORDER(a->size, b->size);
	ORDER(a->addr, b->addr);
	ORDER(a->old_addr, b->old_addr);
	return 0;
}

static int compare_full(const void *a, const void *b, void *order)
{
	const struct heap_event *left = a, *right = b;
	int result = (*(heap_event_order *)order)(left, right);

	if (result != 0)
		return result;
	ORDER(left->timestamp, right->timestamp);
	return 0;
}

/* A call path and the hash that the capture gave it. */
struct site_of_hash {
	uint64_t hash;
	uint32_t site;
};

static int compare_sites(const void *a, const void *b)
{
	const struct site_of_hash *left = a, *right = b;

	ORDER(left->hash, right->hash);
	ORDER(left->site, right->site);
	return 0;
}

static size_t count_conflicts(struct site_of_hash *sites, size_t n_sites)
{
	size_t n_conflicts = 0;

	if (n_sites > 0)
		qsort(sites, n_sites, sizeof(*sites), compare_sites);
	for (size_t i = 1; i < n_sites; i++)
		n_conflicts += sites[i].hash == sites[i - 1].hash && sites[i].site != sites[i - 1].site;
	return n_conflicts;
}

void heap_compare(struct heap_event *expected, size_t n_expected, struct heap_event *seen, size_t n_seen,
        heap_event_order order, struct heap_difference *ret_difference)
{
	struct heap_difference difference = {0};
	struct site_of_hash *sites = test_alloc(n_expected, sizeof(*sites));
	size_t i = 0, j = 0, n_sites = 0;

	difference.missing = test_alloc(n_expected, sizeof(*difference.missing));
	difference.extra = test_alloc(n_seen, sizeof(*difference.extra));
	qsort_r(expected, n_expected, sizeof(*expected), compare_full, &order);
	qsort_r(seen, n_seen, sizeof(*seen), compare_full, &order);
	while (i < n_expected || j < n_seen) {
		int result = i == n_expected ? 1 : j == n_seen ? -1 : order(&expected[i], &seen[j]);

		if (result < 0) {
			difference.missing[difference.n_missing++] = expected[i++];
		} else if (result > 0) {
			difference.extra[difference.n_extra++] = seen[j++];
		} else {
			if (expected[i].site && seen[j].stack_hash)
				sites[n_sites++] =
				        (struct site_of_hash){seen[j].stack_hash, expected[i].site};
			difference.n_same++;
			i++;
			j++;
		}
	}
	difference.n_site_conflicts = count_conflicts(sites, n_sites);
	free(sites);
	*ret_difference = difference;
}

static void print_list(const char *what, const struct heap_event *events, size_t n_events, FILE *file)
{
	for (size_t i = 0; i < n_events && i < N_SHOWN; i++)
		fprintf(file,
		        "  %s: %s pid %" PRIu32 " tid %" PRIu32 " size %" PRIu64 " addr %#" PRIx64
		        " old %#" PRIx64 " site %" PRIu32 "\n",
		        what, event_type_name(events[i].type), events[i].pid, events[i].tid, events[i].size,
		        events[i].addr, events[i].old_addr, events[i].site);
	if (n_events > N_SHOWN)
		fprintf(file, "  ... %zu more %s\n", n_events - N_SHOWN, what);
}

void heap_difference_print(const struct heap_difference *difference, FILE *file)
{
	fprintf(file, "  same %zu, missing %zu, extra %zu, hashes with two sites %zu\n", difference->n_same,
	        difference->n_missing, difference->n_extra, difference->n_site_conflicts);
	print_list("missing", difference->missing, difference->n_missing, file);
	print_list("extra", difference->extra, difference->n_extra, file);
}

void heap_difference_deinit(struct heap_difference *difference)
{
	free(difference->missing);
	free(difference->extra);
	*difference = (struct heap_difference){0};
}
