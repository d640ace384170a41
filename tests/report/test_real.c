/* test_real.c: recordings of real runs, read by the real program: against the independent checker, against
 * heaptrack, and away from everything that was recorded. */
#include <criterion/criterion.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"
#include "support/machine.h"

/* What libstdc++ keeps for throwing without memory: allocated before main and never freed, except that
 * heaptrack asks for it at the end. */
#define EMERGENCY_POOL 72704

/* Of stdio, for a pipe; never freed either. */
#define OUTPUT_BUFFER 4096

/* LeakSanitizer looks at threads in /proc, which is not there; without a sanitizer this means nothing. */
#define NO_PROC "ASAN_OPTIONS=detect_leaks=0 "

static char work[] = "/tmp/memstacks-test-XXXXXX";

/* Records the sample benchmark into profile.out of a fresh folder. */
static void record(void)
{
	const char *why = machine_why_no_capture();

	if (why)
		cr_skip_test("%s", why);
	cr_assert(mkdtemp(work));
	free(run_well("cd %s && \"$MEMSTACKS_RUNNER\" --quiet --instrument memory --experimental-stacks "
	              "--profile-folder profile.out -- \"$MEMSTACKS_FIXTURES/sample_benchmark\" 2000",
	        work));
}

static void clean(void)
{
	free(run_well("rm -rf %s", work));
}

static json_object *parsed(char *text)
{
	json_object *object = json_tokener_parse(text);

	cr_assert(object, "%s", text);
	free(text);
	return object;
}

static uint64_t number(json_object *object, const char *key)
{
	json_object *value;

	cr_assert(json_object_object_get_ex(object, key, &value), "no %s", key);
	return json_object_get_uint64(value);
}

static json_object *member(json_object *object, const char *key)
{
	json_object *value;

	cr_assert(json_object_object_get_ex(object, key, &value), "no %s", key);
	return value;
}

static json_object *report(void)
{
	return parsed(run_well("\"$MEMSTACKS_REAL\" report --json --top 0 %s/profile.out", work));
}

Test(real, agrees_with_the_checker)
{
	const char *checker = getenv("PROFILE_CHECK");
	json_object *said, *own, *sum;

	record();
	if (!checker || access(checker, R_OK) != 0) {
		clean();
		cr_skip_test("no profile_check.py");
	}
	said = parsed(run_well("/usr/bin/env python3 '%s' --stacks --json %s/profile.out", checker, work));
	own = report();
	sum = member(own, "sum");
	cr_assert_gt(number(sum, "count"), 10000);
	cr_assert_eq(number(sum, "count"), number(said, "allocations"));
	cr_assert_eq(number(sum, "total"), number(said, "bytes_allocated"));
	cr_assert_eq(number(sum, "peak"), number(said, "peak_live"));
	cr_assert_eq(number(sum, "live"), number(said, "live_at_end"));
	cr_assert_eq(number(own, "distinct-stacks"), number(said, "distinct_hashes"));
	json_object_put(said);
	json_object_put(own);
	clean();
}

/* What the program is known to do: the index that nobody frees is the leak, and main calls what makes it. */
Test(real, finds_the_leak)
{
	json_object *own, *paths, *path, *frames;
	uint64_t leaked = 0;

	record();
	own = report();
	paths = member(own, "call-paths");
	for (size_t i = 0; i < json_object_array_length(paths); i++) {
		path = json_object_array_get_idx(paths, i);
		frames = member(path, "frames");
		if (strstr(json_object_to_json_string(frames), "build_index") &&
		        strstr(json_object_to_json_string(frames), "\"main\""))
			leaked += number(path, "leak");
	}
	cr_assert_eq(leaked + EMERGENCY_POOL + OUTPUT_BUFFER, number(member(own, "sum"), "leak"));
	cr_assert_gt(leaked, 10000);
	json_object_put(own);
	clean();
}

/* Calls and peak are equal; heaptrack frees the emergency pool at the end, and calls an allocation temporary
 * only if nothing else was freed in between. */
Test(real, agrees_with_heaptrack)
{
	json_object *own, *sum;
	char *text;

	if (!run_has("heaptrack", "the comparison with heaptrack"))
		cr_skip_test("no heaptrack");
	record();
	free(run_well("cd %s && heaptrack -o trace \"$MEMSTACKS_FIXTURES/sample_benchmark\" 2000", work));
	own = report();
	sum = member(own, "sum");
	text = run_well(
	        "cd %s && heaptrack_print trace.* 2>/dev/null | sed -n 's/^calls to allocation functions: "
	        "\\([0-9]*\\) .*/\\1/p'",
	        work);
	cr_assert_eq(number(sum, "count"), strtoull(text, NULL, 10), "%s", text);
	free(text);
	for (int leak = 0; leak < 2; leak++) {
		text = run_well("cd %s && heaptrack_print -F folded --flamegraph-cost-type %s trace.* "
		                ">/dev/null 2>&1 && "
		                "awk '{ sum += $NF } END { printf \"%%d\", sum }' folded",
		        work, leak ? "leaked" : "peak");
		cr_assert_eq(number(sum, leak ? "leak" : "peak") - (leak ? EMERGENCY_POOL : 0),
		        strtoull(text, NULL, 10), "%s", text);
		free(text);
	}
	json_object_put(own);
	clean();
}

/* In a root that holds the program, its libraries and the folder, and nothing of what was recorded, every
 * output is the same to the byte. */
Test(real, off_the_box)
{
	static const char *const commands[] = {"report", "report --no-fold --json --top 0", "unresolved",
	        "export --folded", "export --pprof", "export --speedscope", "export --dhat", "export --html"};
	int status;

	record();
	if (getuid()) {
		clean();
		cr_skip_test("not root: no chroot");
	}
	free(run_well(
	        "cd %s && mkdir box && cp -r profile.out box/ && cp \"$MEMSTACKS_REAL\" box/memstacks && "
	        "for library in $(ldd \"$MEMSTACKS_REAL\" | grep -o '/[^ ]*'); do "
	        "cp --parents \"$library\" box/; done && test ! -e box/usr/bin && test ! -e box/proc",
	        work));
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		free(run(&status,
		        "cd %s && \"$MEMSTACKS_REAL\" %s profile.out > here && " NO_PROC
		        "chroot box /memstacks %s profile.out > there && test -s here && cmp here there",
		        work, commands[i], commands[i]));
		cr_assert_eq(status, 0, "%s", commands[i]);
	}
	clean();
}
