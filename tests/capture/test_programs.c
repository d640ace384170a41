/* test_programs.c: real programs, whole. The counter runs inside the captured run, so both see the same
 * calls; output and exit status are what they are without the runner. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "capture/capture.h"
#include "support/memory.h"
#include "util/cleanup.h"

/* A scratch folder below the profiles' own, made afresh. */
static char *scratch(const char *name)
{
	char *folder = test_text("%s/scratch-%s", capture_env("MEMSTACKS_PROFILES"), name);
	const char *const *argv = WORDS("sh", "-c", "rm -rf -- \"$1\" && mkdir -p -- \"$1\"", "sh", folder);
	struct launch_result result;

	cr_assert_eq(launch_run(&(struct launch){.argv = argv}, &result), 0);
	cr_assert_eq(result.status, 0, "%s", result.err);
	launch_result_deinit(&result);
	return folder;
}

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

static void print_counts(const char *name, const struct capture *capture)
{
	fprintf(stderr, "%s: %zu allocations, %zu distinct hashes, %zu definitions, exit status %d\n", name,
	        profile_n_allocations(&capture->profile), profile_n_hashes(&capture->profile),
	        capture->profile.n_definitions, capture->result.status);
}

/* The whole course; `n_least` guards against a program that did nothing. */
static void program_case(struct capture_spec *spec, size_t n_least, struct capture *ret_capture)
{
	struct capture capture;

	spec->counter = true;
	capture_run(spec, &capture);
	spec->counter = false;
	print_counts(spec->name, &capture);
	capture_must_be_whole(&capture, 0);
	capture_must_equal(&capture.counter, &capture);
	cr_assert_geq(profile_n_allocations(&capture.profile), n_least);
	capture_must_pass_check(&capture, true);
	must_behave_as_alone(spec, &capture);
	*ret_capture = capture;
}

Test(programs, python_json)
{
	static const char script[] = "import json\n"
	                             "rows = [{'id': i, 'name': 'row %d' % i, 'tags': ['t%d' % (i % 7)] * 3} "
	                             "for i in range(2000)]\n"
	                             "for _ in range(3):\n"
	                             "    text = json.dumps(rows)\n"
	                             "    rows = json.loads(text)\n"
	                             "print(len(text), sum(r['id'] for r in rows))\n";
	struct capture_spec spec = {.name = "python",
	        .argv = WORDS("/usr/bin/python3", "-c", script),
	        .env = WORDS("PYTHONMALLOC=malloc", "PYTHONHASHSEED=0")};
	struct capture capture;

	capture_need_rights();
	program_case(&spec, 50000, &capture);
	cr_assert_eq(profile_count_named(&capture.profile, "python3"), 1);
	/* Distinct call paths are few against allocations. */
	cr_assert_leq(4 * profile_n_hashes(&capture.profile), profile_n_allocations(&capture.profile),
	        "%zu hashes for %zu allocations", profile_n_hashes(&capture.profile),
	        profile_n_allocations(&capture.profile));
	capture_deinit(&capture);
}

Test(programs, git_log)
{
	CLEANUP_FREE char *folder = scratch("git");
	struct capture_spec spec = {.name = "git",
	        .folder = folder,
	        .argv = WORDS("git", "--no-pager", "log", "--stat"),
	        .env = WORDS("GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")};
	struct capture capture;

	capture_need_rights();
	prepare(folder, "export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null\n"
	                "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a\n"
	                "export GIT_COMMITTER_EMAIL=a@example.org GIT_AUTHOR_DATE='1700000000 +0000'\n"
	                "export GIT_COMMITTER_DATE='1700000000 +0000'\n"
	                "git init -q .\n"
	                "for i in $(seq 60); do\n"
	                "  seq $i $((i * 3)) > file$((i % 9)); git add -A; git commit -qm \"change $i\"\n"
	                "done\n");
	program_case(&spec, 2000, &capture);
	cr_assert_eq(profile_count_named(&capture.profile, "git"), 1);
	capture_deinit(&capture);
}

Test(programs, sqlite)
{
	static const char script[] =
	        "create table t(id integer primary key, name text, value real);"
	        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)"
	        " insert into t select i, 'name ' || i, i * 0.5 from n;"
	        "create index by_name on t(name);"
	        "select count(*), sum(value) from t where name like 'name 1%';";
	struct capture_spec spec = {.name = "sqlite", .argv = WORDS("sqlite3", "-batch", ":memory:", script)};
	struct capture capture;

	capture_need_rights();
	program_case(&spec, 10000, &capture);
	cr_assert_leq(20 * profile_n_hashes(&capture.profile), profile_n_allocations(&capture.profile),
	        "%zu hashes for %zu allocations", profile_n_hashes(&capture.profile),
	        profile_n_allocations(&capture.profile));
	capture_deinit(&capture);
}

Test(programs, gcc)
{
	CLEANUP_FREE char *folder = scratch("gcc");
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

	capture_need_rights();
	program_case(&spec, 40000, &capture);
	capture_deinit(&capture);
}

/* A loop over a map of strings makes three allocations a round, all from one call path. */
Test(programs, cxx_loop_has_few_hashes)
{
	CLEANUP_FREE char *path = capture_fixture_path("cxx_loop");
	struct capture_spec spec = {.name = "cxx_loop", .argv = WORDS(path, "45000")};
	struct capture capture;

	capture_need_rights();
	program_case(&spec, 135000, &capture);
	cr_assert_leq(
	        profile_n_hashes(&capture.profile), 30, "%zu hashes", profile_n_hashes(&capture.profile));
	capture_deinit(&capture);
}
