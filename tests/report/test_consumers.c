/* test_consumers.c: the exports, as the programs read them that they are for. What is not installed is
 * skipped by name. */
#include <criterion/criterion.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"
#include "run.h"

#define CHROMIUM                                                                                             \
	"chromium --no-sandbox --headless --disable-gpu --disable-dev-shm-usage --window-size=1200,800 "     \
	"--virtual-time-budget=20000 --user-data-dir=%s/chromium"

/* Two processes; 1 and 3 share a path by symbol. Names are as hostile as they may be. */
static struct maker make_profile(void)
{
	struct maker maker = maker_new(NULL);

	maker_define(&maker, 1,
	        "0 0 0\nmalloc\t\t\t\t\t/lib/libc.so.6\tc0ffee\t100\n"
	        "needle_inlined(int)\t\tneedle.cpp\t7\ti\t/bin/program\tabc123\t2000\n"
	        "needle(std::map<int, int>)\t_Z6needle\tneedle.cpp\t20\t\t/bin/program\tabc123\t2000\n"
	        "main\tmain\tmain.cpp\t3\t\t/bin/program\tabc123\t1000\n");
	maker_define(&maker, 2,
	        "0 0 0\nmalloc\t\t\t\t\t/lib/libc.so.6\tc0ffee\t100\n"
	        "</script><script>document.title=\"evil\"</script> "
	        "&quot;'\xff;x\t\t\t\t\t/bin/program\tabc123\t3000\n"
	        "main\tmain\tmain.cpp\t4\t\t/bin/program\tabc123\t1010\n");
	maker_define(&maker, 3,
	        "0 0 0\nmalloc\t\t\t\t\t/lib/libc.so.6\tc0ffee\t100\n"
	        "needle_inlined(int)\t\tneedle.cpp\t8\ti\t/bin/program\tabc123\t2008\n"
	        "needle(std::map<int, int>)\t_Z6needle\tneedle.cpp\t21\t\t/bin/program\tabc123\t2008\n"
	        "main\tmain\tmain.cpp\t3\t\t/bin/program\tabc123\t1000\n");
	maker_malloc(&maker, 1, 1000, 0x10, 3000, 2);
	maker_malloc(&maker, 1, 2000, 0x20, 1000, 1);
	maker_malloc(&maker, 2, 3000, 0x30, 500, 3);
	maker_free_block(&maker, 1, 4000, 0x10);
	maker_malloc(&maker, 1, 5000, 0x40, 100, 2);
	maker_free_block(&maker, 1, 5100, 0x40);
	maker_finish_whole(&maker, NULL);
	return maker;
}

/* Exports to FOLDER/out. */
static void export_as(const struct maker *maker, const char *format)
{
	free(run_well("'%s' export %s '%s' -o '%s/out'", run_memstacks(), format, maker->path, maker->path));
}

static bool contains(const char *text, const char *part)
{
	if (strstr(text, part))
		return true;
	fprintf(stderr, "no «%s» in:\n%s\n", part, text);
	return false;
}

Test(consumers, folded)
{
	static const char expected[] =
	        "main;</script><script>document.title=\"evil\"</script> &quot:'\xef\xbf\xbd:x;malloc 3100\n"
	        "main;needle(std::map<int, int>);needle_inlined(int);malloc 1500\n";
	struct maker maker = make_profile();
	char *text;

	export_as(&maker, "--folded");
	text = run_well("LC_ALL=C sort '%s/out'", maker.path);
	cr_assert_str_eq(text, expected);
	free(text);
	export_as(&maker, "--folded --metric leak-count");
	text = run_well("cat '%s/out'", maker.path);
	cr_assert_str_eq(text, "main;needle(std::map<int, int>);needle_inlined(int);malloc 2\n");
	free(text);
	maker_remove(&maker);
}

Test(consumers, pprof)
{
	struct maker maker = make_profile();
	char *text;

	if (!run_has("go", "go tool pprof"))
		cr_skip_test("no go");
	export_as(&maker, "--pprof");
	text = run_well("go tool pprof -raw '%s/out' 2>/dev/null", maker.path);
	cr_assert(contains(text, "PeriodType: alloc_space bytes"));
	cr_assert(
	        contains(text, "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes "
	                       "peak_objects/count peak_space/bytes[dflt] temporary_objects/count"));
	cr_assert(contains(text, "1: 0x0/0x3001/0x0 /bin/program abc123 [FN][FL][LN][IN]"));
	cr_assert(contains(text, "/lib/libc.so.6 c0ffee"));
	cr_assert(contains(text, "2       3100          0          0          1       3000          1:"));
	free(text);
	text = run_well("go tool pprof -top -sample_index=inuse_space '%s/out' 2>/dev/null", maker.path);
	cr_assert(contains(text, "1.46kB"));
	cr_assert(contains(text, "needle"));
	free(text);
	text = run_well(
	        "go tool pprof -top -cum -lines -sample_index=alloc_space '%s/out' 2>/dev/null", maker.path);
	cr_assert(contains(text, "needle.cpp:20"));
	cr_assert(contains(text, "needle.cpp:7"));
	cr_assert(contains(text, "main.cpp:4"));
	free(text);
	text = run_well("go tool pprof -tags -sample_index=alloc_space '%s/out' 2>/dev/null", maker.path);
	cr_assert(contains(text, "one"));
	cr_assert(contains(text, "two"));
	free(text);
	maker_remove(&maker);
}

/* The page of a URL after its scripts ran. */
static char *browse(const struct maker *maker, const char *url)
{
	return run_well(
	        CHROMIUM " --allow-file-access-from-files --dump-dom '%s' 2>/dev/null", maker->path, url);
}

static json_object *member(json_object *object, const char *key)
{
	json_object *value;

	cr_assert(json_object_object_get_ex(object, key, &value), "no %s", key);
	return value;
}

static const char *text_of(json_object *object, const char *key)
{
	return json_object_get_string(member(object, key));
}

/* In place: &amp; and others to what they stand for. */
static void unescape(char *text)
{
	static const char *const escapes[][2] = {{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}};
	char *to = text;
	size_t i;

	while (*text) {
		for (i = 0; i < 3 && strncmp(text, escapes[i][0], strlen(escapes[i][0])) != 0; i++)
			;
		*to++ = i < 3 ? escapes[i][1][0] : *text;
		text += i < 3 ? strlen(escapes[i][0]) : 1;
	}
	*to = '\0';
}

/* What probe.html wrote. */
static json_object *probed(char *page)
{
	char *begin = strstr(page, "<pre id=\"probe\">"), *end;
	json_object *said;

	cr_assert(begin, "the probe did not end: %s", page);
	begin += strlen("<pre id=\"probe\">");
	end = strstr(begin, "</pre>");
	cr_assert(end);
	*end = '\0';
	unescape(begin);
	said = json_tokener_parse(begin);
	cr_assert(said, "%s", begin);
	return said;
}

static json_object *probe(const struct maker *maker)
{
	char url[800], *page;
	json_object *said;

	free(run_well("cat '%s/out' \"$CONSUMERS/probe.html\" > '%s/out.html'", maker->path, maker->path));
	snprintf(url, sizeof(url), "file://%s/out.html", maker->path);
	page = browse(maker, url);
	said = probed(page);
	free(page);
	return said;
}

Test(consumers, html)
{
	struct maker maker = make_profile();
	json_object *said;
	char *text;

	if (!run_has("chromium", "the HTML page in a browser"))
		cr_skip_test("no chromium");
	export_as(&maker, "--html");
	text = run_well("grep -c -i 'https\\?:' '%s/out' || true", maker.path);
	cr_assert_str_eq(text, "0\n"); /* nothing to fetch */
	free(text);
	said = probe(&maker);
	cr_assert(contains(text_of(said, "title"), "memstacks: memstacks-test-"));
	cr_assert_str_eq(text_of(said, "notes"), "");
	cr_assert(contains(text_of(said, "caption"), "peak 4.39 KiB after 2.0 µs"));
	cr_assert_str_eq(text_of(said, "tabs"), "[ \"4.39 KiB\", \"4.49 KiB\", \"4\", \"1.46 KiB\", \"1\" ]");
	cr_assert_str_eq(text_of(said, "root"), "everything");
	cr_assert_str_eq(text_of(said, "first"), "main");
	/* The largest is on the left. */
	cr_assert_str_eq(text_of(said, "leftmost"),
	        "</script><script>document.title=\"evil\"</script> &quot;'\xef\xbf\xbd;x");
	cr_assert_str_eq(text_of(said, "rightmost"), "needle(std::map<int, int>)");
	cr_assert(contains(text_of(said, "tip"), "1.46 KiB33.3 %"));
	cr_assert(contains(text_of(said, "zoomed"), "needle(std::map<int, int>) — 1.46 KiB, 33.3 % of all"));
	cr_assert_str_eq(
	        text_of(said, "wide"), "[ \"needle(std::map<int, int>)\", \"needle(std::map<int, int>)\" ]");
	cr_assert_str_eq(text_of(said, "afterReset"), text_of(said, "leftmost"));
	cr_assert_str_eq(text_of(said, "matches"), "2 frames match, 33.3 % of peak");
	cr_assert(contains(text_of(said, "found"), "needle"));
	cr_assert_str_eq(text_of(said, "leak"), "2 frames match, 100.0 % of leak");
	cr_assert(contains(text_of(said, "functions"), "\"1.46 KiB\", \"100.0 %\", \"main\""));
	json_object_put(said);
	maker_remove(&maker);
}

/* Pruned to few frames, the page says so and the sums stay. */
Test(consumers, html_pruned)
{
	struct maker maker = make_profile();
	json_object *said;

	if (!run_has("chromium", "the pruned HTML page in a browser"))
		cr_skip_test("no chromium");
	export_as(&maker, "--html --max-nodes 3");
	said = probe(&maker);
	cr_assert(contains(text_of(said, "notes"), "4 of 6 frames are left out"));
	cr_assert(contains(text_of(said, "tabs"), "\"4.39 KiB\""));
	cr_assert_str_eq(text_of(said, "first"), "main");
	json_object_put(said);
	maker_remove(&maker);
}

Test(consumers, html_diff)
{
	struct maker old = make_profile(), new = maker_new(NULL);
	json_object *said;

	if (!run_has("chromium", "the HTML diff in a browser"))
		cr_skip_test("no chromium");
	maker_define_functions(&new, 9, "malloc;needle(std::map<int, int>);main");
	maker_malloc(&new, 1, 1000, 0x10, 6000, 9);
	maker_finish_whole(&new, NULL);
	free(run_well("'%s' diff --html '%s/out' '%s' '%s'", run_memstacks(), old.path, old.path, new.path));
	said = probe(&old);
	cr_assert(contains(text_of(said, "title"), "memstacks diff: "));
	cr_assert(contains(text_of(said, "tabs"), "\"5.86 KiB +33.3 %\""));
	cr_assert(contains(text_of(said, "caption"), "(OLD, dashed: 4.39 KiB)"));
	cr_assert_str_eq(text_of(said, "leftmost"), "needle(std::map<int, int>)");
	cr_assert(contains(text_of(said, "tip"), "1.46 KiB → 5.86 KiB+300.0 %"));
	json_object_put(said);
	maker_remove(&old);
	maker_remove(&new);
}

Test(consumers, dhat)
{
	struct maker maker = make_profile();
	char url[800], *page;

	if (!run_has("chromium", "DHAT's viewer") ||
	        !run_has("/usr/libexec/valgrind/dh_view.js", "DHAT's viewer"))
		cr_skip_test("no chromium or no DHAT viewer");
	export_as(&maker, "--dhat");
	free(run_well("cp /usr/libexec/valgrind/dh_view.js \"$CONSUMERS/dhat.html\" '%s'", maker.path));
	free(run_well("(printf 'const data = '; /usr/bin/env python3 -c 'import json, sys; "
	              "print(json.dumps(sys.stdin.read()))' < '%s/out') > '%s/data.js'",
	        maker.path, maker.path));
	snprintf(url, sizeof(url), "file://%s/dhat.html", maker.path);
	page = browse(&maker, url);
	cr_assert(contains(page, "4,600 bytes (100%"));
	cr_assert(contains(page, "At t-gmax: 4,500 bytes (100%"));
	cr_assert(contains(page, "At t-end:  1,500 bytes (100%"));
	cr_assert(contains(page, "Command: one"));
	cr_assert(contains(page, "needle_inlined(int) (needle.cpp:7)"));
	cr_assert(contains(page, "0x100: malloc (in /lib/libc.so.6)"));
	free(page);
	maker_remove(&maker);
}

/* $SPEEDSCOPE is the folder of its npm package. */
Test(consumers, speedscope)
{
	struct maker maker = make_profile();
	char url[800], *page;

	if (!run_has("chromium", "speedscope") ||
	        !run_has("\"${SPEEDSCOPE:-/nonexistent}/bin/cli.mjs\"", "speedscope"))
		cr_skip_test("no chromium or no speedscope");
	export_as(&maker, "--speedscope");
	free(run_well("cp -r \"$SPEEDSCOPE/dist/release\" '%s/speedscope'", maker.path));
	free(run_well("(printf \"speedscope.loadFileFromBase64('memory.json', '\"; base64 -w0 '%s/out'; "
	              "printf \"')\") > "
	              "'%s/profile.js'",
	        maker.path, maker.path));
	snprintf(url, sizeof(url), "file://%s/speedscope/index.html#localProfilePath=%s/profile.js",
	        maker.path, maker.path);
	page = browse(&maker, url);
	cr_assert(contains(page, "<span>bytes allocated <span"));
	cr_assert(contains(page, ">(1/5)</span>"));
	cr_assert(contains(page, "<span>bytes live at the peak</span>"));
	cr_assert(contains(page, ">4.39 KB<"));
	cr_assert(contains(page, "<span>temporary allocations</span>"));
	free(page);
	maker_remove(&maker);
}
