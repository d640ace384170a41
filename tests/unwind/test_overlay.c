/* Proves that a overlay finds the range that holds, against a search through all of them. */
#include "resolve/overlay.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "util/cleanup.h"

static const struct overlay_range *search(
        const struct overlay_range *ranges, size_t n, uint64_t address, uint64_t time)
{
	const struct overlay_range *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (ranges[i].start <= address && address < ranges[i].end && ranges[i].time <= time &&
		        (!found || ranges[i].time >= found->time))
			found = &ranges[i];
	}
	return found;
}

Test(overlay, agrees_with_a_search)
{
	static struct overlay_range ranges[60];

	srandom(7);
	for (size_t round = 0; round < 500; round++) {
		size_t n = (size_t)random() % (N_ELEMENTS(ranges) + 1);
		struct overlay *overlay;

		for (size_t i = 0; i < n; i++) {
			uint64_t start = (uint64_t)random() % 100;

			ranges[i] = (struct overlay_range){.start = start,
			        .end = start + (uint64_t)random() % 40,
			        .time = (uint64_t)random() % 20,
			        .value = &ranges[i]};
		}
		cr_assert_eq(overlay_new(ranges, n, &overlay), 0);
		for (size_t i = 0; i < 300; i++) {
			uint64_t address = (uint64_t)random() % 150, time = (uint64_t)random() % 22;
			const struct overlay_range *expected = search(ranges, n, address, time);
			const struct overlay_range *found = overlay_find(overlay, address, time);

			cr_assert_eq(!found, !expected);
			if (found)
				cr_assert_eq(found->value, expected->value);
		}
		overlay_free(overlay);
	}
}

Test(overlay, extremes)
{
	const struct overlay_range ranges[] = {
	        {.start = 0, .end = UINT64_MAX, .time = 5},
	        {.start = 10, .end = 10, .time = 6},
	        {.start = 20, .end = 10, .time = 6},
	        {.start = UINT64_MAX - 1, .end = UINT64_MAX, .time = UINT64_MAX},
	};
	struct overlay *overlay;

	cr_assert_eq(overlay_new(ranges, N_ELEMENTS(ranges), &overlay), 0);
	cr_assert_eq(overlay_find(overlay, 0, 5)->time, 5);
	cr_assert_null(overlay_find(overlay, 0, 4));
	cr_assert_eq(overlay_find(overlay, 10, 7)->time, 5, "an empty range holds nothing");
	cr_assert_eq(overlay_find(overlay, UINT64_MAX - 1, UINT64_MAX)->time, UINT64_MAX);
	cr_assert_null(overlay_find(overlay, UINT64_MAX, UINT64_MAX));
	overlay_free(overlay);
	cr_assert_eq(overlay_new(NULL, 0, &overlay), 0);
	cr_assert_null(overlay_find(overlay, 0, 0));
	overlay_free(overlay);
}

/* A plugin host that closes and opens libraries at one place, thousands of times. */
Test(overlay, many_at_one_place, .timeout = 20)
{
	const size_t n = 100000;
	CLEANUP_FREE struct overlay_range *ranges = calloc(n, sizeof(ranges[0]));
	struct overlay *overlay;

	for (size_t i = 0; i < n; i++)
		ranges[i] = (struct overlay_range){.start = i % 7, .end = 1000000 + i, .time = i};
	cr_assert_eq(overlay_new(ranges, n, &overlay), 0);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(overlay_find(overlay, 500, i)->time, i);
	overlay_free(overlay);
}
