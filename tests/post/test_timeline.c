/* test_timeline.c: placements over time. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/timeline.h"
#include "support.h"
#include "util/cleanup.h"

static struct timeline *timeline;

static void setup(void)
{
	cr_assert_eq(timeline_new(&timeline), 0);
}

static void teardown(void)
{
	timeline_free(timeline);
}

TestSuite(timeline, .init = setup, .fini = teardown);

static void map(uint64_t time, uint32_t pid, uint64_t start, uint64_t len, uint64_t offset, uint32_t module)
{
	struct event event = {.type = EVENT_MAPPING,
	        .timestamp = time,
	        .pid = pid,
	        .addr = start,
	        .mapping = {.len = len, .file_offset = offset}};

	cr_assert_eq(timeline_add(timeline, &event, module), 0);
}

static void happen(enum event_type type, uint64_t time, uint32_t pid, uint32_t parent, bool shares)
{
	struct event event = {
	        .type = type, .timestamp = time, .pid = pid, .parent_pid = parent, .shares_memory = shares};

	cr_assert_eq(timeline_add(timeline, &event, 99), 0);
}

/* All placements as text: pid:module@time[start,end)+offset. */
static void check(const char *expected)
{
	const struct placement *placements;
	size_t n, at = 0;
	char text[4000] = "";

	cr_assert_eq(timeline_finish(timeline, &placements, &n), 0);
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u:%u@%zu[%zu,%zu)+%zu", i ? " " : "",
		        placements[i].pid, placements[i].module, (size_t)placements[i].time,
		        (size_t)placements[i].start, (size_t)placements[i].end,
		        (size_t)placements[i].file_offset);
	cr_assert_str_eq(text, expected);
	cr_assert_eq(timeline_n_dropped(timeline), 0);
}

Test(timeline, nothing)
{
	happen(EVENT_MALLOC, 1, 1, 0, false);
	check("");
}

/* A library closed and another opened at its place: both are kept, and a child inherits what is there at the
 * time. */
Test(timeline, fork_inherits_what_is_there)
{
	map(1, 1, 100, 50, 0, 0);
	map(2, 1, 300, 50, 10, 1);
	map(5, 1, 300, 50, 0, 2);
	happen(EVENT_FORK, 6, 2, 1, false);
	map(7, 1, 500, 1, 0, 3);
	map(8, 2, 600, 1, 0, 4);
	check("1:0@1[100,150)+0 1:1@2[300,350)+10 1:2@5[300,350)+0 1:3@7[500,501)+0 "
	      "2:0@6[100,150)+0 2:2@6[300,350)+0 2:4@8[600,601)+0");
}

/* What is covered in part is inherited in part: its start, its end, or both. */
Test(timeline, covered_in_part)
{
	map(1, 1, 100, 100, 1000, 0);
	map(2, 1, 140, 20, 0, 1);
	map(3, 1, 90, 20, 0, 2);
	map(4, 1, 190, 20, 0, 3);
	happen(EVENT_FORK, 5, 2, 1, false);
	check("1:0@1[100,200)+1000 1:1@2[140,160)+0 1:2@3[90,110)+0 1:3@4[190,210)+0 "
	      "2:2@5[90,110)+0 2:0@5[110,140)+1010 2:1@5[140,160)+0 2:0@5[160,190)+1060 2:3@5[190,210)+0");
}

/* Exec and exit drop everything: there is nothing to inherit afterwards. */
Test(timeline, exec_and_exit_drop)
{
	map(1, 1, 100, 50, 0, 0);
	happen(EVENT_EXEC, 2, 1, 0, false);
	happen(EVENT_FORK, 3, 2, 1, false);
	map(4, 1, 200, 50, 0, 1);
	happen(EVENT_EXIT, 5, 1, 0, false);
	happen(EVENT_FORK, 6, 3, 1, false);
	check("1:0@1[100,150)+0 1:1@4[200,250)+0");
}

/* Processes that share memory share what either maps, until one execs. */
Test(timeline, shared_memory)
{
	map(1, 1, 100, 50, 0, 0);
	happen(EVENT_FORK, 2, 2, 1, true);
	map(3, 1, 200, 50, 0, 1);
	map(4, 2, 300, 50, 0, 2);
	happen(EVENT_EXEC, 5, 2, 0, false);
	map(6, 1, 400, 50, 0, 3);
	map(7, 2, 500, 50, 0, 4);
	check("1:0@1[100,150)+0 1:1@3[200,250)+0 1:2@4[300,350)+0 1:3@6[400,450)+0 "
	      "2:0@2[100,150)+0 2:1@3[200,250)+0 2:2@4[300,350)+0 2:4@7[500,550)+0");
}

/* Steps count in the order of their times, and of the stream where times are equal. */
Test(timeline, order)
{
	happen(EVENT_FORK, 5, 2, 1, false);
	map(9, 1, 200, 50, 0, 1);
	map(1, 1, 100, 50, 0, 0);
	map(5, 1, 300, 50, 0, 2);
	check("1:0@1[100,150)+0 1:2@5[300,350)+0 1:1@9[200,250)+0 2:0@5[100,150)+0");
}

/* Odd ones: no length, beyond the end of memory, a process that forks itself, a child of nobody. */
Test(timeline, odd_steps)
{
	map(1, 1, 100, 0, 0, 0);
	map(2, 1, UINT64_MAX - 10, 100, 0, 1);
	happen(EVENT_FORK, 3, 1, 1, false);
	happen(EVENT_FORK, 4, 2, 77, true);
	happen(EVENT_EXIT, 5, 78, 0, false);
	check("1:1@2[18446744073709551605,18446744073709551615)+0");
}

/* A stream that would make more placements than memory can hold ends soon, and what was left out is counted.
 */
Test(timeline, absurd_streams, .timeout = 60)
{
	const struct placement *placements;
	size_t n;

	for (uint32_t i = 0; i < 3000; i++)
		map(i, 1, i * 100, 50, 0, 0);
	for (uint32_t i = 0; i < 3000; i++)
		happen(EVENT_FORK, 5000 + i, 2 + i, 1, i % 2);
	cr_assert_eq(timeline_finish(timeline, &placements, &n), 0);
	cr_assert_eq(n + timeline_n_dropped(timeline), 3000 + 3000 * 3000);
	cr_assert_leq(n, 5000000);
}

Test(timeline, random_steps)
{
	struct random random = {.state = 55};
	const struct placement *placements;
	size_t n;

	for (int i = 0; i < 30000; i++) {
		uint32_t pid = 1 + (uint32_t)random_below(&random, 20);

		switch (random_below(&random, 8)) {
		case 0:
			happen(EVENT_FORK, random_below(&random, 10000), pid,
			        1 + (uint32_t)random_below(&random, 20), random_below(&random, 2));
			break;
		case 1:
			happen(EVENT_EXIT, random_below(&random, 10000), pid, 0, false);
			break;
		default:
			map(random_below(&random, 10000), pid, random_below(&random, 200),
			        random_below(&random, 50), 0, 0);
		}
	}
	cr_assert_eq(timeline_finish(timeline, &placements, &n), 0);
	for (size_t i = 0; i < n; i++) {
		cr_assert_lt(placements[i].start, placements[i].end);
		cr_assert(i == 0 || placements[i - 1].pid <= placements[i].pid);
	}
}
