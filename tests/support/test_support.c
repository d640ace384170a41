/* test_support.c: the witnesses themselves: a comparison that could not fail would prove nothing. */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "support/calls.h"
#include "support/launch.h"
#include "support/machine.h"

static struct heap_event event(
        enum event_type type, uint64_t size, uint64_t addr, uint32_t site, uint64_t hash)
{
	static uint64_t time;

	return (struct heap_event){.pid = 1,
	        .tid = 2,
	        .type = type,
	        .size = size,
	        .addr = addr,
	        .site = site,
	        .stack_hash = hash,
	        .timestamp = ++time};
}

Test(heap_compare, finds_each_kind_of_difference)
{
	struct heap_event left[] = {event(EVENT_MALLOC, 8, 16, 1, 0), event(EVENT_FREE, 0, 16, 0, 0),
	        event(EVENT_MALLOC, 8, 16, 1, 0), event(EVENT_MALLOC, 9, 32, 2, 0)};
	struct heap_event right[] = {event(EVENT_MALLOC, 8, 16, 0, 7), event(EVENT_FREE, 0, 16, 0, 0),
	        event(EVENT_FREE, 0, 16, 0, 0), event(EVENT_MALLOC, 9, 48, 0, 8)};
	struct heap_difference difference;

	heap_compare(left, 4, right, 4, heap_event_compare_call, &difference);
	cr_assert_eq(difference.n_same, 2);
	cr_assert_eq(difference.n_missing, 2);
	cr_assert_eq(difference.n_extra, 2);
	cr_assert_eq(difference.n_site_conflicts, 0);
	heap_difference_deinit(&difference);
}

Test(heap_compare, finds_one_hash_for_two_sites)
{
	struct heap_event left[] = {event(EVENT_MALLOC, 8, 16, 1, 0), event(EVENT_MALLOC, 8, 32, 2, 0),
	        event(EVENT_MALLOC, 8, 48, 2, 0)};
	struct heap_event right[] = {event(EVENT_MALLOC, 8, 16, 0, 7), event(EVENT_MALLOC, 8, 32, 0, 7),
	        event(EVENT_MALLOC, 8, 48, 0, 9)};
	struct heap_difference difference;

	heap_compare(left, 3, right, 3, heap_event_compare_call, &difference);
	cr_assert_eq(difference.n_same, 3);
	cr_assert_eq(difference.n_site_conflicts, 1);
	heap_difference_deinit(&difference);
}

Test(calls, failed_calls_are_no_events)
{
	struct heap_event *events;
	struct calls calls;
	size_t n_events;

	cr_assert_eq(calls_init(&calls, 100), 0);
	call_log_add(calls.log, CALL_MALLOC, 0, 10, NULL, NULL);
	call_log_add(calls.log, CALL_FREE, 0, 0, NULL, NULL);
	call_log_add(calls.log, CALL_REALLOC, 0, 10, (void *)64, NULL);
	call_log_add(calls.log, CALL_REALLOC, 0, 0, (void *)64, NULL);
	call_log_add(calls.log, CALL_REALLOC, 3, 7, (void *)64, (void *)128);
	events = calls_events(&calls, &n_events);
	cr_assert_eq(n_events, 2);
	cr_assert_eq(events[0].type, EVENT_FREE);
	cr_assert_eq(events[0].addr, 64);
	cr_assert_eq(events[1].type, EVENT_REALLOC);
	cr_assert_eq(events[1].old_addr, 64);
	cr_assert_eq(events[1].addr, 128);
	cr_assert_eq(events[1].pid, (uint32_t)getpid());
	free(events);
	calls_deinit(&calls);
}

Test(calls, overflow_is_noticed)
{
	struct calls calls;

	cr_assert_eq(calls_init(&calls, 2), 0);
	for (int i = 0; i < 2; i++)
		call_log_add(calls.log, CALL_MALLOC, 0, 10, NULL, NULL);
	cr_assert(!calls_overflowed(&calls));
	call_log_add(calls.log, CALL_MALLOC, 0, 10, NULL, NULL);
	cr_assert(calls_overflowed(&calls));
	cr_assert_eq(calls_n_records(&calls), 2);
	calls_deinit(&calls);
}

Test(launch, output_status_and_signal)
{
	struct launch_result result;

	cr_assert_eq(launch_run(&(struct launch){.argv = (const char *const[]){"sh", "-c",
	                                                 "echo out; echo err >&2; exit $CODE", NULL},
	                                .env = (const char *const[]){"CODE=7", NULL}},
	                     &result),
	        0);
	cr_assert_str_eq(result.out, "out\n");
	cr_assert_str_eq(result.err, "err\n");
	cr_assert_eq(result.status, 7);
	launch_result_deinit(&result);
	cr_assert_eq(
	        launch_run(&(struct launch){.argv = (const char *const[]){"sh", "-c", "kill -9 $$", NULL}},
	                &result),
	        0);
	cr_assert_eq(result.status, 128 + SIGKILL);
	launch_result_deinit(&result);
}

Test(launch, what_takes_too_long_is_ended_with_its_descendants)
{
	const char *const argv[] = {"sh", "-c", "sleep 100 & sleep 100", NULL};
	struct launch_result result;

	cr_assert_eq(launch_run(&(struct launch){.argv = argv, .timeout = 1}, &result), 0);
	cr_assert(result.timed_out);
	cr_assert_eq(machine_wait_for_none(5), 0);
	launch_result_deinit(&result);
}

Test(machine, sees_stopped_descendants)
{
	struct running running;
	struct launch_result result;

	cr_assert_eq(
	        launch_start(&(struct launch){.argv = (const char *const[]){"sleep", "100", NULL}}, &running),
	        0);
	cr_assert_eq(machine_n_stopped(), 0);
	kill(running.pid, SIGSTOP);
	for (int i = 0; i < 100 && machine_n_stopped() == 0; i++)
		usleep(10000);
	cr_assert_eq(machine_n_stopped(), 1);
	kill(running.pid, SIGKILL);
	cr_assert_eq(launch_finish(&running, &result), 0);
	launch_result_deinit(&result);
}

/* The counter against calls that are known. */
Test(counter, sees_what_a_fixture_did)
{
	const char *fixtures = getenv("MEMSTACKS_FIXTURES"), *counter = getenv("MEMSTACKS_COUNTER");
	char program[4096], preload[4096], own_log[4096], count_log[4096];
	const char *argv[] = {program, NULL}, *env[] = {preload, own_log, count_log, NULL};
	struct heap_event *own_events, *seen_events;
	struct heap_difference difference;
	struct launch_result result;
	struct calls own, seen;
	size_t n_own, n_seen;

	cr_assert_not_null(fixtures);
	cr_assert_eq(calls_init(&own, 100000), 0);
	cr_assert_eq(calls_init(&seen, 100000), 0);
	snprintf(program, sizeof(program), "%s/reallocs", fixtures);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", counter);
	snprintf(own_log, sizeof(own_log), "%s=%s", CALL_LOG_FIXTURE_ENV, own.path);
	snprintf(count_log, sizeof(count_log), "%s=%s", CALL_LOG_COUNTER_ENV, seen.path);
	cr_assert_eq(launch_run(&(struct launch){.argv = argv, .env = env}, &result), 0);
	cr_assert_eq(result.status, 0, "%s", result.err);
	own_events = calls_events(&own, &n_own);
	seen_events = calls_events(&seen, &n_seen);
	heap_compare(own_events, n_own, seen_events, n_seen, heap_event_compare_call, &difference);
	if (difference.n_missing || difference.n_extra)
		heap_difference_print(&difference, stderr);
	cr_assert_gt(difference.n_same, 100);
	cr_assert_eq(difference.n_missing, 0);
	cr_assert_eq(difference.n_extra, 0);
	heap_difference_deinit(&difference);
	free(own_events);
	free(seen_events);
	calls_deinit(&own);
	calls_deinit(&seen);
	launch_result_deinit(&result);
}
