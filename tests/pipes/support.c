/* support.c: runs the client under the runner. */
#include "pipes/support.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* A /tmp of one's own, in which only the build is still to be seen where it lies in /tmp itself. */
static void make_private_tmp(void)
{
	char build[256] = "", target[300], source[300];

	cr_assert_eq(unshare(CLONE_NEWNS), 0, "%s", strerror(errno));
	cr_assert_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0, "%s", strerror(errno));
	cr_assert_eq(mount("tmpfs", "/mnt", "tmpfs", 0, "mode=1777"), 0, "%s", strerror(errno));
	if (sscanf(host_runner(), "/tmp/%255[^/]", build) == 1) {
		snprintf(source, sizeof(source), "/tmp/%s", build);
		snprintf(target, sizeof(target), "/mnt/%s", build);
		cr_assert_eq(mkdir(target, 0755), 0, "%s", strerror(errno));
		cr_assert_eq(mount(source, target, NULL, MS_BIND | MS_REC, NULL), 0, "%s", strerror(errno));
	}
	cr_assert_eq(mount("/mnt", "/tmp", NULL, MS_MOVE, NULL), 0, "%s", strerror(errno));
	setenv("TMPDIR", "/tmp", 1);
}

void pipes_test_init(void)
{
	host_need_root();
	make_private_tmp();
	host_init();
	unsetenv("RUNNER_NO_INTEGRATIONS");
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	cr_assert_not_null(value, "%s is not set", name);
	return value;
}

const char *pipes_client(void)
{
	return variable("HOST_CLIENT");
}

const char *pipes_plugins(void)
{
	return variable("HOST_PLUGINS");
}

struct outcome pipes_expect(const char *const *argv, int status, const char *answers)
{
	struct outcome outcome = host_run(argv);

	cr_expect_eq(outcome.status, status, "status %d, not %d: %s", outcome.status, status, outcome.err);
	cr_expect_str_eq(outcome.out, answers, "answers %s, not %s (%s)", outcome.out, answers, outcome.err);
	pipes_expect_clean();
	return outcome;
}

void pipes_expect_clean(void)
{
	glob_t found;

	cr_expect_eq(glob("/tmp/runner.*fifo*", 0, NULL, &found), GLOB_NOMATCH, "a pipe is left");
}

struct json_object *pipes_summary(void)
{
	struct json_object *summary = json_object_from_file(host_profile_file("summary.json"));

	cr_assert_not_null(summary);
	return summary;
}

uint64_t pipes_figure(struct json_object *summary, const char *uri, const char *key)
{
	struct json_object *all = json_object_object_get(summary, "benchmarks");

	for (size_t i = 0; i < json_object_array_length(all); i++) {
		struct json_object *one = json_object_array_get_idx(all, i), *figure;

		if (strcmp(json_object_get_string(json_object_object_get(one, "uri")), uri))
			continue;
		figure = json_object_object_get(one, key);
		cr_assert_not_null(figure, "no %s", key);
		return json_object_get_uint64(figure);
	}
	cr_assert_fail("no benchmark '%s'", uri);
	return 0;
}
