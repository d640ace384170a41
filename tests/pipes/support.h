/* support.h: runs the client under the runner, in a mount namespace with a /tmp of its own. */
#ifndef TESTS_PIPES_SUPPORT_H
#define TESTS_PIPES_SUPPORT_H

#include <json-c/json.h>

#include "support/host.h"

/* For TestSuite(.init = …, .fini = host_deinit). Skips the test without root. */
void pipes_test_init(void);

const char *pipes_client(void);
const char *pipes_plugins(void);

/* Command lines of the runner with the client: with the fake instrument, and with the real one. */
#define DIALOGUE(...) FAKE("-q", "--", pipes_client(), __VA_ARGS__)
#define MEMORY_OPTIONS(...)                                                                                  \
	((const char *const[]){host_runner(), "--plugin-dir", pipes_plugins(), "--instrument", "memory",     \
	        __VA_ARGS__, NULL})
#define MEASURED(...) MEMORY_OPTIONS("--experimental-stacks", "--", pipes_client(), __VA_ARGS__)

/* Runs, and expects status and answers (standard output). */
struct outcome pipes_expect(const char *const *argv, int status, const char *answers);

/* Whether nothing of the runner is left in /tmp. */
void pipes_expect_clean(void);

/* summary.json of the only profile; a figure of a benchmark in it. */
struct json_object *pipes_summary(void);
uint64_t pipes_figure(struct json_object *summary, const char *uri, const char *key);

#endif
