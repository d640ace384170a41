/* test_programs.c: real programs, whole. The counter runs inside the captured run, so both see the same
 * calls; output and exit status are what they are without the runner. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "capture/capture.h"
#include "support/memory.h"
#include "util/cleanup.h"

/* The identity whose distinct hashes are bounded here; by call path there are fewer. */
static const char *const by_code[] = {"--stack-identity", "code", NULL};

static void prepare(const char *folder, const char *script)
{
	const char *const *argv = WORDS("sh", "-ec", script);
	struct launch_result result;

	cr_assert_eq(launch_run(&(struct launch){.argv = argv, .folder = folder}, &result), 0);
	cr_assert_eq(result.status, 0, "%s\n%s", script, result.err);
	launch_result_deinit(&result);
}

static void must_behave_as_alone(const struct capture_spec *spec, const struct capture *capture)
{
	struct capture alone;

	capture_run_alone(spec, false, &alone);
	cr_assert_eq(capture->result.status, alone.result.status, "exit status %d, alone %d\n%s",
	        capture->result.status, alone.result.status, capture->result.err);
	cr_assert_eq(capture->result.n_out, alone.result.n_out, "%zu bytes of output, alone %zu",
	        capture->result.n_out, alone.result.n_out);
	cr_assert_eq(memcmp(capture->result.out, alone.result.out, alone.result.n_out), 0, "output differs");
	capture_deinit(&alone);
}

static void print_counts(const struct capture_spec *spec, const struct capture *capture)
{
	fprintf(stderr, "%s: %zu allocations, %zu distinct hashes, %zu definitions, exit status %d\n",
	        spec->name, profile_n_allocations(&capture->profile), profile_n_hashes(&capture->profile),
	        capture->profile.n_definitions, capture->result.status);
}

/* The counter runs in the captured run: both see the same calls, address by address. `n_least` guards against
 * a program that did nothing. */
static void program_case(struct capture_spec *spec, size_t n_least, struct capture *ret_capture)
{
	struct capture capture;

	capture_need_rights();
	spec->counter = true;
	capture_run(spec, &capture);
	print_counts(spec, &capture);
	capture_must_be_whole(&capture, 0);
	capture_must_equal(&capture.counter, &capture);
	cr_assert_geq(profile_n_allocations(&capture.profile), n_least);
	capture_must_pass_check(&capture, true);
	must_behave_as_alone(spec, &capture);
	*ret_capture = capture;
}

/* The counter runs apart, so that nothing stands between the program and its allocator in the captured run.
 * The program must be a deterministic one: types and sizes of all calls are compared. */
static void plain_case(struct capture_spec *spec, struct capture *ret_capture)
{
	struct heap_difference difference;
	struct capture capture, alone;
	struct heap_event *counted;
	size_t n_counted;

	capture_need_rights();
	spec->counter = false;
	capture_run(spec, &capture);
	print_counts(spec, &capture);
	capture_must_be_whole(&capture, 0);
	capture_run_alone(spec, true, &alone);
	counted = calls_events(&alone.counter, &n_counted);
	heap_compare(counted, n_counted, capture.profile.calls, capture.profile.n_calls,
	        heap_event_compare_shape, &difference);
	if (difference.n_missing || difference.n_extra)
		heap_difference_print(&difference, stderr);
	cr_assert_eq(difference.n_missing, 0);
	cr_assert_eq(difference.n_extra, 0);
	heap_difference_deinit(&difference);
	free(counted);
	capture_deinit(&alone);
	*ret_capture = capture;
}

/* Distinct call paths are few against allocations: at most `share` in a thousand. */
static void must_have_few_hashes(const struct capture *capture, size_t share)
{
	size_t n_hashes = profile_n_hashes(&capture->profile);
	size_t n_allocations = profile_n_allocations(&capture->profile);

	cr_assert_leq(1000 * n_hashes, share * n_allocations, "%zu hashes for %zu allocations", n_hashes,
	        n_allocations);
}

static const char python_script[] =
        "import json\n"
        "rows = [{'id': i, 'name': 'row %d' % i, 'tags': ['t%d' % (i % 7)] * 3} for i in range(2000)]\n"
        "for _ in range(3):\n"
        "    text = json.dumps(rows)\n"
        "    rows = json.loads(text)\n"
        "print(len(text), sum(r['id'] for r in rows))\n";
static const char *const python_command[] = {"/usr/bin/python3", "-c", python_script, NULL};
static const char *const python_env[] = {"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0", NULL};

Test(programs, python_json)
{
	struct capture_spec spec = {.name = "python", .argv = python_command, .env = python_env};
	struct capture capture;

	program_case(&spec, 50000, &capture);
	cr_assert_eq(profile_count_named(&capture.profile, "python3"), 1);
	capture_deinit(&capture);
}

Test(programs, python_json_plain)
{
	struct capture_spec spec = {
	        .name = "python-plain", .argv = python_command, .env = python_env, .options = by_code};
	struct capture capture;

	plain_case(&spec, &capture);
	must_have_few_hashes(&capture, 250);
	capture_deinit(&capture);
}

static const char git_history[] =
        "export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null\n"
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a\n"
        "export GIT_COMMITTER_EMAIL=a@example.org GIT_AUTHOR_DATE='1700000000 +0000'\n"
        "export GIT_COMMITTER_DATE='1700000000 +0000'\n"
        "git init -q .\n"
        "for i in $(seq 60); do\n"
        "  seq $i $((i * 3)) > file$((i % 9)); git add -A; git commit -qm \"change $i\"\n"
        "done\n";

Test(programs, git_log)
{
	CLEANUP_FREE char *folder = capture_new_folder("files-git");
	struct capture_spec spec = {.name = "git",
	        .folder = folder,
	        .argv = WORDS("git", "--no-pager", "log", "--stat"),
	        .env = WORDS("GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")};
	struct capture capture;

	prepare(folder, git_history);
	program_case(&spec, 2000, &capture);
	cr_assert_eq(profile_count_named(&capture.profile, "git"), 1);
	capture_deinit(&capture);
	spec.name = "git-plain";
	plain_case(&spec, &capture);
	capture_deinit(&capture);
}

static const char sqlite_script[] =
        "create table t(id integer primary key, name text, value real);"
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)"
        " insert into t select i, 'name ' || i, i * 0.5 from n;"
        "create index by_name on t(name);"
        "select count(*), sum(value) from t where name like 'name 1%';";
static const char *const sqlite_command[] = {"sqlite3", "-batch", ":memory:", sqlite_script, NULL};

Test(programs, sqlite)
{
	struct capture_spec spec = {.name = "sqlite", .argv = sqlite_command};
	struct capture capture;

	program_case(&spec, 10000, &capture);
	capture_deinit(&capture);
}

Test(programs, sqlite_plain)
{
	struct capture_spec spec = {.name = "sqlite-plain", .argv = sqlite_command, .options = by_code};
	struct capture capture;

	plain_case(&spec, &capture);
	must_have_few_hashes(&capture, 50);
	capture_deinit(&capture);
}

Test(programs, gcc)
{
	CLEANUP_FREE char *folder = capture_new_folder("files-gcc");
	CLEANUP_FREE char *output = test_text("%s/out.o", folder);
	struct capture_spec spec = {.name = "gcc",
	        .folder = folder,
	        .argv = WORDS("gcc", "-O2", "-c", "in.cpp", "-o", output),
	        .timeout = 300};
	struct capture capture;

	capture_need_rights();
	prepare(folder,
	        "printf '%s\\n' '#include <map>' '#include <string>' "
	        "'int f(const std::map<std::string, int> &m) { int n = 0; for (auto &e : m) n += e.second;"
	        " return n; }' > in.cpp");
	program_case(&spec, 100000, &capture);
	cr_assert_eq(profile_count_named(&capture.profile, "cc1plus"), 1);
	cr_assert_eq(profile_count_named(&capture.profile, "as"), 1);
	cr_assert_eq(profile_count_named(&capture.profile, "gcc"), 1);
	cr_assert_eq(access(output, R_OK), 0);
	capture_deinit(&capture);
}

Test(programs, perl_hash)
{
	static const char script[] = "my %h; for my $i (1 .. 20000) { $h{\"key $i\"} = [$i, \"value $i\"]; } "
	                             "my $n = 0; $n += $_->[0] for values %h; print \"$n\\n\";";
	struct capture_spec spec = {.name = "perl",
	        .argv = WORDS("perl", "-e", script),
	        .env = WORDS("PERL_HASH_SEED=0", "PERL_PERTURB_KEYS=0")};
	struct capture capture;

	program_case(&spec, 40000, &capture);
	capture_deinit(&capture);
}

/* A loop over a map of strings makes three allocations a round, all from one call path. */
Test(programs, cxx_loop_has_few_hashes)
{
	CLEANUP_FREE char *path = capture_fixture_path("cxx_loop");
	struct capture_spec spec = {.name = "cxx_loop", .argv = WORDS(path, "45000"), .options = by_code};
	struct capture capture;
	size_t n_by_code;

	plain_case(&spec, &capture);
	capture_must_pass_check(&capture, true);
	n_by_code = profile_n_hashes(&capture.profile);
	cr_assert_geq(profile_n_allocations(&capture.profile), 135000);
	cr_assert_leq(n_by_code, 30, "%zu hashes", n_by_code);
	capture_deinit(&capture);
	spec.name = "cxx_loop-path";
	spec.options = WORDS("--stack-identity", "path");
	plain_case(&spec, &capture);
	cr_assert_leq(profile_n_hashes(&capture.profile), n_by_code);
	capture_deinit(&capture);
}
