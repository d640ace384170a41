/* subjects.c: recording into folders below the build folder. */
#include "identity/subjects.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "identity/artifact.h"
#include "support/launch.h"
#include "support/memory.h"
#include "util/cleanup.h"

#define N_WORDS 48

char *subject_folder(const char *name)
{
	const char *build = getenv("MEMSTACKS_BUILD");
	CLEANUP_FREE char *parent = test_text("%s/scratch", build ? build : ".");
	char *path = test_text("%s/identity-XXXXXX", parent);
	char *whole;

	cr_assert_not_null(build, "MEMSTACKS_BUILD is not set: run the tests through meson");
	mkdir(parent, 0777); /* it may be there */
	cr_assert_not_null(mkdtemp(path), "no folder %s", path);
	whole = test_text("%s/%s", path, name);
	free(path);
	return whole;
}

char *subject_source(const char *name, const char *text)
{
	char *path = subject_folder(name);
	CLEANUP_FCLOSE FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	cr_assert_gt(fputs(text, file), 0);
	return path;
}

char *subject_record(const struct subject *subject, const char *const *options)
{
	char *folder = subject_folder("profile");
	char *fixtures[N_WORDS];
	const char *argv[N_WORDS] = {getenv("MEMSTACKS_RUNNER"), "--instrument", "memory",
	        "--no-integrations", "--experimental-stacks", "--quiet", "--profile-folder", folder};
	struct launch_result result;
	size_t n = 8, n_fixtures = 0;

	for (size_t i = 0; options && options[i]; i++, n++)
		argv[n] = options[i];
	argv[n++] = "--";
	for (size_t i = 0; subject->argv[i]; i++, n++) {
		cr_assert_lt(n, N_WORDS - 1);
		argv[n] = subject->argv[i];
		if (argv[n][0] == '@')
			argv[n] = fixtures[n_fixtures++] =
			        test_text("%s/%s", getenv("MEMSTACKS_FIXTURES"), argv[n] + 1);
	}
	argv[n] = NULL;
	cr_assert_eq(
	        launch_run(&(struct launch){.argv = argv, .env = subject->env, .timeout = 240}, &result), 0);
	cr_assert_eq(result.status, 0, "%s: status %d\n%s", subject->name, result.status, result.err);
	launch_result_deinit(&result);
	while (n_fixtures > 0)
		free(fixtures[--n_fixtures]);
	cr_assert_eq(artifact_figure(folder, "lost"), 0, "%s", subject->name);
	return folder;
}

void subject_remove(char *folder)
{
	struct launch_result result;
	char *end = strrchr(folder, '/');

	*end = '\0'; /* with the folder around it, which is its own too */
	if (launch_run(&(struct launch){.argv = WORDS("rm", "-rf", "--", folder)}, &result) == 0)
		launch_result_deinit(&result);
	free(folder);
}
