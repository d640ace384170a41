/* test_statuses.c: every exit status of the runner, provoked once end to end; with the real instrument where
 * it can be.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipes/support.h"

TestSuite(all_statuses, .init = pipes_test_init, .fini = host_deinit);

static struct outcome expect_status(const char *const *argv, int status, const char *text)
{
	struct outcome outcome = host_run(argv);

	cr_expect_eq(outcome.status, status, "status %d, not %d: %s", outcome.status, status, outcome.err);
	cr_expect_not_null(strstr(outcome.err, text), "no '%s' in %s", text, outcome.err);
	return outcome;
}

Test(all_statuses, of_the_command)
{
	expect_status(MEMORY_OPTIONS("--", "/bin/true"), 0, "ended with status 0");
	expect_status(MEMORY_OPTIONS("--", "/bin/sh", "-c", "exit 42"), 42, "ended with status 42");
	expect_status(
	        MEMORY_OPTIONS("--", "/bin/sh", "-c", "kill -SEGV $$"), 128 + SIGSEGV, "ended by signal 11");
}

Test(all_statuses, before_the_start)
{
	char *plain = host_path("plain");

	host_write(plain, "no program", 0644);
	expect_status(MEMORY_OPTIONS("--stack-budget=1", "--", "/bin/true"), 125, "stack-budget");
	expect_status(MEMORY_OPTIONS("--", plain), 126, "no executable file");
	expect_status(MEMORY_OPTIONS("--", "no-such-command"), 127, "not found");
	pipes_expect_clean();
}

Test(all_statuses, no_benchmark)
{
	expect_status(
	        MEMORY_OPTIONS("--", pipes_client(), "ping"), 123, "no benchmark ran: an integration spoke");
	expect_status(MEMORY_OPTIONS("--", pipes_client(), "start", "stop"), 123, "no benchmark ran");
	expect_status(MEMORY_OPTIONS("--allow-empty", "--", pipes_client(), "ping"), 0, "(allowed)");
	expect_status(MEMORY_OPTIONS("--scope=benchmarks", "--", "/bin/true"), 123, "no integration spoke");
	expect_status(
	        MEMORY_OPTIONS("--scope=benchmarks", "--no-integrations", "--allow-empty", "--", "/bin/true"),
	        0, "no integration spoke");
	setenv("RUNNER_ALLOW_EMPTY", "1", 1);
	expect_status(MEMORY_OPTIONS("--", pipes_client(), "ping"), 0, "(allowed)");
	unsetenv("RUNNER_ALLOW_EMPTY");
	/* The command's own failure wins. */
	expect_status(MEMORY_OPTIONS("--", "/bin/sh", "-c", "$0 ping; exit 7", pipes_client()), 7,
	        "no benchmark ran");
}

/* A program whose allocator cannot be told: without symbols, and linked into it. */
Test(all_statuses, not_traced)
{
	char *source = host_path("static.c"), *program = host_path("static"), *command;

	host_write(source, "#include <stdlib.h>\nint main(void) { free(malloc(10)); return 0; }\n", 0644);
	cr_assert(asprintf(&command, "cc -static -s -o %s %s", program, source) > 0);
	cr_assert_eq(system(command), 0);
	expect_status(MEMORY_OPTIONS("--", program), 121, "not traced: 1");
}

/* What the real instrument goes to great lengths to avoid. */
Test(all_statuses, lost_and_gate)
{
	expect_status(FAKE("--fake-lost=1", "--", "/bin/true"), 120, "lost: 1");
	expect_status(FAKE("--fake-lost=1", "--allow-loss", "--", "/bin/true"), 0, "(allowed)");
	expect_status(FAKE("--fake-gate", "--", "/bin/true"), 122, "a gate failed");
	/* All at once: the first of them. */
	expect_status(
	        FAKE("--fake-lost=1", "--fake-not-traced=1", "--fake-gate", "--", pipes_client(), "ping"),
	        120, "no benchmark ran");
	expect_status(FAKE("--fake-not-traced=1", "--fake-gate", "--", pipes_client(), "ping"), 121,
	        "a gate failed");
	expect_status(FAKE("--fake-gate", "--", pipes_client(), "ping"), 122, "no benchmark ran");
}
