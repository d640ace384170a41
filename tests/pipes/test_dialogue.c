/* test_dialogue.c: every message, good and bad, and what becomes of it: with an instrument that writes down
 * its calls.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipes/support.h"

TestSuite(dialogue, .init = pipes_test_init, .fini = host_deinit);

/* The calls between pre_exec and the end of the command. */
static void expect_calls(const char *expected)
{
	char *text = host_read(host_profile_file("calls.txt"));
	char *begin = strstr(text, "pre_exec\n"), *end = strstr(text, "wait_status");

	cr_assert(begin && end);
	*end = '\0';
	cr_expect_str_eq(begin + strlen("pre_exec\n"), expected);
}

/* None of the calls that the last run made. */
static void forget_profile(void)
{
	char *profile = host_profile();

	cr_assert_neq(rename(profile, host_path("old.%d", rand())), -1);
}

Test(dialogue, all_that_a_client_says)
{
	struct outcome outcome =
	        pipes_expect(DIALOGUE("version=2", "name=pytest-codspeed,4.0.1", "mode", "ping", "start",
	                             "marker=2,17", "marker=3,18446744073709551615", "stop",
	                             "bench=tests/x.py::test_a", "marker=0,5", "marker=1,6"),
	                0, "ack\nack\nmode 2\nack\nack\nack\nack\nack\nack\nack\nack\n");
	struct json_object *integration = json_object_object_get(pipes_summary(), "integration");

	cr_expect_str_empty(outcome.err);
	expect_calls("stop\nintegration pytest-codspeed 4.0.1\nstart\nsample 0\nmarker 2 17\n"
	             "marker 3 18446744073709551615\nstop\nsample 1\nbenchmark 1 tests/x.py::test_a "
	             "1\nmarker 0 5\n"
	             "marker 1 6\n");
	cr_expect_str_eq(
	        json_object_get_string(json_object_object_get(integration, "name")), "pytest-codspeed");
	cr_expect_str_eq(json_object_get_string(json_object_object_get(integration, "version")), "4.0.1");
}

Test(dialogue, environment)
{
	struct outcome outcome = host_run(DIALOGUE("env"));
	char *expected;

	cr_assert(asprintf(&expected,
	                  "CODSPEED_ENV=runner\nCODSPEED_RUNNER_MODE=fake\nCODSPEED_PROFILE_FOLDER=%s\nARCH=",
	                  host_profile()) > 0);
	cr_expect_eq(strncmp(outcome.out, expected, strlen(expected)), 0, "%s", outcome.out);
	cr_expect_not_null(strstr(outcome.out, "\nPYTHONHASHSEED=0\nPYTHON_PERF_JIT_SUPPORT=0\n"));
	expect_calls("");
	cr_expect_null(json_object_object_get(pipes_summary(), "integration"));
}

Test(dialogue, no_integrations)
{
	struct outcome outcome =
	        host_run(FAKE("--no-integrations", "-q", "--", pipes_client(), "env", "ping"));

	cr_expect_not_null(strstr(outcome.out, "CODSPEED_ENV=(unset)\nCODSPEED_RUNNER_MODE=(unset)\n"
	                                       "CODSPEED_PROFILE_FOLDER=(unset)\nARCH=(unset)\n"));
	cr_expect_not_null(strstr(outcome.err, "cannot open the pipes"));
	cr_expect_eq(outcome.status, 3);
}

/* Each is answered with Err, once, and what follows is understood. */
Test(dialogue, malformed)
{
	static const char *const messages[] = {
	        /* Nothing; too short for a variant. */
	        "raw=00000000",
	        "raw=0100000001",
	        /* Ack, Err and the mode are not for the runner. */
	        "raw=0400000003000000",
	        "raw=0400000006000000",
	        "raw=080000000a00000002000000",
	        /* Unknown variants; something behind StartProfiler. */
	        "raw=040000000b000000",
	        "raw=04000000ffffffff",
	        "raw=0500000001000000ff",
	        /* CurrentBenchmark without a URI, with an absurd one, with one that is no text. */
	        "raw=080000000000000001000000",
	        "raw=120000000000000001000000ffffffffffffffff6162",
	        "raw=120000000000000001000000020000000000000061ff",
	        /* A marker of no kind; half a version. */
	        "raw=140000000700000001000000040000000100000000000000",
	        "raw=080000000800000002000000",
	};

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		pipes_expect(FAKE("-q", "--allow-empty", "--", pipes_client(), messages[i], "ping", "start",
		                     "stop"),
		        0, "err\nack\nack\nack\n");
		expect_calls("stop\nstart\nsample 0\nstop\nsample 1\n");
		forget_profile();
	}
}

Test(dialogue, refused_messages_do_nothing)
{
	struct outcome outcome =
	        host_run(FAKE("-q", "--", pipes_client(), "raw=04000000ffffffff", "raw=0500000001000000ff"));

	cr_expect_str_eq(outcome.out, "err\nerr\n");
	cr_expect_not_null(strstr(outcome.err, "refused: 2"), "%s", outcome.err);
	/* Nobody is an integration by that. */
	expect_calls("");
	cr_expect_eq(outcome.status, 0);
}

Test(dialogue, versions)
{
	struct outcome outcome = host_run(FAKE(
	        "--allow-empty", "--", pipes_client(), "version=0", "version=1", "version=2", "version=3"));

	cr_expect_str_eq(outcome.out, "err\nerr\nack\nack\n");
	cr_expect_not_null(
	        strstr(outcome.err, "speaks version 0 of the protocol, at least 2"), "%s", outcome.err);
}

Test(dialogue, pieces)
{
	pipes_expect(DIALOGUE("trickle=1400000000000000010000000400000000000000612f3a62", "read",
	                     "trickle=04000000", "sleep=800", "trickle=04000000", "read"),
	        0, "ack\nack\n");
	expect_calls("stop\nbenchmark 1 a/:b 1\n");
}

Test(dialogue, several_at_once)
{
	pipes_expect(
	        DIALOGUE("write="
	                 "0400000001000000040000000200000004000000ff00000004000000040000000400000009000000",
	                "read", "read", "read", "read", "read", "bench=x"),
	        0, "ack\nack\nerr\nack\nmode 2\nack\n");
}

/* Skipped to its end where that comes, and as far as it comes where it does not. */
Test(dialogue, too_long)
{
	pipes_expect(DIALOGUE("write=00000200", "zeros=131072", "read", "bench=a"), 0, "err\nack\n");
	forget_profile();
	pipes_expect(DIALOGUE("raw=ffffffff", "bench=a"), 0, "err\nack\n");
	forget_profile();
	pipes_expect(DIALOGUE("write=ffffff7f", "zeros=1000000", "read", "bench=a"), 0, "err\nack\n");
}

/* A client that stays and does not go on is told so; one that is gone leaves nothing behind for the next. */
Test(dialogue, half_messages)
{
	char *script;

	pipes_expect(DIALOGUE("write=080000000100", "read", "bench=a"), 0, "err\nack\n");
	forget_profile();
	cr_assert(asprintf(&script, "%s write=280000000500 die; sleep 1.5; %s bench=b", pipes_client(),
	                  pipes_client()) > 0);
	pipes_expect(FAKE("-q", "--", "/bin/sh", "-c", script), 0, "ack\n");
	expect_calls("stop\nbenchmark 1 b 1\n");
}

/* Its answer must not be taken for that to the next one's question, which would be one behind from then on.
 */
Test(dialogue, answer_of_a_dead_client)
{
	char *script;

	cr_assert(asprintf(&script, "%s write=040000000b000000 die; sleep 1.5; %s bench=b mode",
	                  pipes_client(), pipes_client()) > 0);
	pipes_expect(FAKE("-q", "--", "/bin/sh", "-c", script), 0, "ack\nmode 2\n");
}

Test(dialogue, dies_between_start_and_stop)
{
	char *script;
	struct outcome outcome;

	cr_assert(
	        asprintf(&script, "%s start die; %s start stop bench=b", pipes_client(), pipes_client()) > 0);
	outcome = pipes_expect(FAKE("-q", "--", "/bin/sh", "-c", script), 0, "ack\nack\nack\nack\n");
	expect_calls("stop\nstart\nsample 0\nsample 0\nstop\nsample 1\nbenchmark 1 b 1\n");
	cr_expect_not_null(
	        strstr(outcome.err, "started and not stopped before the next one: 1"), "%s", outcome.err);
	forget_profile();
	outcome = host_run(DIALOGUE("start", "bench=b"));
	cr_expect_not_null(
	        strstr(outcome.err, "the last benchmark was started and not stopped"), "%s", outcome.err);
}

Test(dialogue, instrument_that_fails)
{
	struct outcome outcome = host_run(FAKE("-q", "--allow-empty", "--fake-fail=start", "--",
	        pipes_client(), "ping", "start", "stop", "ping"));

	cr_expect_str_eq(outcome.out, "ack\nerr\nack\nack\n");
	forget_profile();
	outcome = host_run(FAKE("-q", "--fake-fail=benchmark", "--", pipes_client(), "bench=a"));
	cr_expect_str_eq(outcome.out, "err\n");
	cr_expect_eq(outcome.status, 123);
	forget_profile();
	outcome =
	        host_run(FAKE("-q", "--scope=benchmarks", "--fake-fail=stop", "--", pipes_client(), "ping"));
	cr_expect_eq(outcome.status, 125);
	pipes_expect_clean();
}

Test(dialogue, scopes)
{
	pipes_expect(FAKE("-q", "--scope=process", "--", pipes_client(), "ping", "start", "stop", "bench=a"),
	        0, "ack\nack\nack\nack\n");
	expect_calls("sample 0\nsample 1\nbenchmark 1 a 1\n");
	forget_profile();
	pipes_expect(
	        FAKE("-q", "--scope=benchmarks", "--", pipes_client(), "ping", "start", "stop", "bench=a"), 0,
	        "ack\nack\nack\nack\n");
	expect_calls("stop\nstart\nsample 0\nstop\nsample 1\nbenchmark 1 a 1\n");
	forget_profile();
	cr_expect_eq(host_run(FAKE("--scope=some", "--", "/bin/true")).status, 125);
	setenv("RUNNER_SCOPE", "process", 1);
	pipes_expect(DIALOGUE("start", "bench=a"), 0, "ack\nack\n");
	expect_calls("sample 0\nbenchmark 1 a 1\n");
}

/* Several processes at the same time: every message is whole, and answered once. */
Test(dialogue, processes)
{
	char *script;
	char *text;
	unsigned n = 0;

	cr_assert(asprintf(&script, "for i in 1 2 3 4; do %s many=50 & done; wait", pipes_client()) > 0);
	cr_expect_eq(host_run(FAKE("-q", "--", "/bin/sh", "-c", script)).status, 0);
	text = host_read(host_profile_file("calls.txt"));
	for (char *at = text; (at = strstr(at, "benchmark 1 many/")); at++)
		n++;
	cr_expect_eq(n, 200, "%u", n);
}
