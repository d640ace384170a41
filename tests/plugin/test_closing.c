/* test_closing.c: every descriptor that was handed over is closed, once, also where there are more than
 * threads. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "kernel/closing.h"

/* Adds `n` ends of pipes, whose other ends go to `ret_others`: they tell when theirs is closed. */
static void add_pipes(struct descriptors *descriptors, int *ret_others, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int ends[2];

		cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
		ret_others[i] = ends[0];
		cr_assert_eq(descriptors_add(descriptors, ends[1]), 0);
	}
}

static void must_be_closed(int *others, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct pollfd other = {.fd = others[i]};

		cr_assert_eq(poll(&other, 1, 0), 1, "number %zu is still open", i);
		cr_assert(other.revents & POLLHUP);
		close(others[i]);
	}
}

Test(closing, all_of_a_list)
{
	static const size_t counts[] = {0, 1, 2, 33, 200};
	int others[200];

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct descriptors descriptors = {0};

		add_pipes(&descriptors, others, counts[i]);
		descriptors_close(&descriptors);
		must_be_closed(others, counts[i]);
		cr_assert_eq(descriptors.n, 0);
		descriptors_close(&descriptors);
	}
}

Test(closing, links_before_events)
{
	struct descriptors links = {0}, events = {0};
	int link_ends[50], event_ends[6];
	struct closing *closing;

	add_pipes(&links, link_ends, 50);
	add_pipes(&events, event_ends, 6);
	closing = closing_start(&links, &events);
	cr_assert_eq(links.n + events.n, 0, "they were handed over");
	closing_wait_for_links(closing);
	must_be_closed(link_ends, 50);
	cr_assert_null(closing_finish(closing));
	must_be_closed(event_ends, 6);
}

Test(closing, nothing)
{
	struct descriptors links = {0}, events = {0};
	struct closing *closing = closing_start(&links, &events);

	closing_wait_for_links(closing);
	cr_assert_null(closing_finish(closing));
}

Test(closing, a_list_into_another)
{
	struct descriptors all = {0}, one = {0};
	int others[40];

	add_pipes(&all, others, 20);
	add_pipes(&one, others + 20, 20);
	descriptors_move(&all, &one);
	cr_assert_eq(one.n, 0);
	cr_assert_eq(all.n, 40);
	descriptors_close(&all);
	must_be_closed(others, 40);
}
