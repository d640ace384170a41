/* Proves that a profile needs nothing but its folder: in a root of its own, with only memstacks and its
 * libraries, every output is byte for byte what it is on the machine that was recorded. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "samples.h"
#include "util/cleanup.h"

/* LeakSanitizer looks at threads in /proc, which is not there; without a sanitizer this means nothing. */
#define NO_PROC "ASAN_OPTIONS=detect_leaks=0 "

/* What comes behind a | runs outside the root. */
static const char *const commands[] = {
        "report profile",
        "report --json profile",
        "unresolved profile",
        "export --folded profile",
        "export --pprof profile | cksum",
        "export --speedscope profile | cksum",
        "export --dhat profile | cksum",
        "export --html profile | cksum",
};

/* The program, what it is linked with, and the profile; no program that was recorded and no debug info. */
static void make_root(const char *root, const char *profile)
{
	int status;
	char *output = shell(&status,
	        "set -e; cp '%s' '%s/memstacks'; cp -r '%s' '%s/profile';"
	        " for file in $(ldd '%s' | grep -o '/[^ ]*'); do mkdir -p '%s'/$(dirname $file); cp -L $file "
	        "'%s'$file; done",
	        getenv("MEMSTACKS"), root, profile, root, getenv("MEMSTACKS"), root, root);

	cr_assert_eq(status, 0, "%s", output);
	free(output);
}

static void record(const struct folder *profile, const char *scratch)
{
	const char *settings[] = {"SAMPLES_MAX=40", NULL};
	char path[512];
	const char *argv[] = {path, NULL};
	struct samples samples;

	snprintf(path, sizeof(path), "%s/stack-exceptions", getenv("STACK_FIXTURES"));
	samples_take(argv, settings, scratch, &samples);
	samples_write_profile(&samples, profile->fd, NULL);
	samples_deinit(&samples);
}

Test(off_box, same_output_in_a_bare_root, .timeout = 120)
{
	struct folder scratch, profile, root;

	if (geteuid() != 0)
		cr_skip_test("chroot needs root");
	scratch = folder_new();
	profile = folder_new();
	root = folder_new();
	record(&profile, scratch.path);
	make_root(root.path, profile.path);
	for (size_t i = 0; i < N_ELEMENTS(commands); i++) {
		int on_box, off_box;
		char *expected =
		        shell(&on_box, "cd '%s' && '%s' %s", root.path, getenv("MEMSTACKS"), commands[i]);
		char *found = shell(&off_box, NO_PROC "chroot '%s' /memstacks %s", root.path, commands[i]);

		cr_expect_eq(on_box, 0, "%s: %s", commands[i], expected);
		cr_expect_eq(off_box, 0, "%s: %s", commands[i], found);
		cr_expect_str_eq(found, expected, "%s", commands[i]);
		/* A sum of nothing would be equal too. */
		cr_expect(!strstr(commands[i], "cksum") || strtoul(strchr(found, ' '), NULL, 10) > 500,
		        "%s: %s", commands[i], found);
		if (i == 0)
			cr_expect_not_null(strstr(found, "shop::open"), "%s", found);
		free(expected);
		free(found);
	}
	folder_remove(&scratch);
	folder_remove(&profile);
	folder_remove(&root);
}
