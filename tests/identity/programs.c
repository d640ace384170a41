/* programs.c: the table of programs. */
#include "identity/programs.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/machine.h"
#include "support/memory.h"
#include "util/cleanup.h"

#define SQL(rows)                                                                                            \
	"create table t(id integer primary key, name text, value real);"                                     \
	"with recursive n(i) as (select 1 union all select i + 1 from n where i < " rows ")"                 \
	" insert into t select i, 'name ' || i, i * 0.5 from n;"                                             \
	"create index by_name on t(name);"                                                                   \
	"select count(*), sum(value) from t where name like 'name 1%';"

#define PERL(n)                                                                                              \
	"my %h; for my $i (1 .. " n ") { $h{\"key $i\"} = [$i, \"value $i\"]; }"                             \
	" my $n = 0; $n += $_->[0] for values %h; print \"$n\\n\";"

#define PYTHON(n)                                                                                            \
	"import json\n"                                                                                      \
	"rows = [{'id': i, 'name': 'row %d' % i, 'tags': ['t%d' % (i % 7)] * 3} for i in range(" n ")]\n"    \
	"for _ in range(3):\n"                                                                               \
	"    text = json.dumps(rows)\n"                                                                      \
	"    rows = json.loads(text)\n"

/* 500 children of one program; `small`: fewer of them, the paths are the same. */
#define SHELL(n) "i=0; while [ $i -lt " n " ]; do \"$0\" 3; i=$((i + 1)); done"

static const char *const python_env[] = {"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0", NULL};
static const char *const perl_env[] = {"PERL_HASH_SEED=0", "PERL_PERTURB_KEYS=0", NULL};

static const struct program {
	const char *name;
	const char *needs; /* a file; NULL: a fixture */
	const char *argv[7];
	const char *small; /* in place of the last argument */
	const char *const *env;
} programs[] = {
        {.name = "cxx_loop", .argv = {"@cxx_loop", "45000"}, .small = "12000"},
        {.name = "cxx_paths", .argv = {"@cxx_paths", "5000"}, .small = "3000"},
        {.name = "threads", .argv = {"@threads", "8", "3000"}, .small = "1500"},
        {.name = "forks", .argv = {"@forks", "3", "3", "50"}, .small = "50"},
        {.name = "recursion", .argv = {"@recursion", "200", "300"}, .small = "300"},
        {.name = "longjmps", .argv = {"@longjmps", "1000"}, .small = "300"},
        {.name = "fibers", .argv = {"@fibers", "8", "200"}},
        {.name = "altstack", .argv = {"@altstack", "20000", "100"}, .small = "50"},
        {.name = "late_library", .argv = {"@late_library", "@libbump.so", "200"}},
        {.name = "clones", .argv = {"@clones", "6"}},
        {.name = "spawn", .argv = {"@spawn", "chain", "8", "@pairs", "500"}},
        {.name = "sqlite",
                .needs = "/usr/bin/sqlite3",
                .argv = {"sqlite3", "-batch", ":memory:", SQL("20000")},
                .small = SQL("6000")},
        {.name = "perl",
                .needs = "/usr/bin/perl",
                .argv = {"perl", "-e", PERL("20000")},
                .small = PERL("5000"),
                .env = perl_env},
        {.name = "python",
                .needs = "/usr/bin/python3",
                .argv = {"/usr/bin/python3", "-c", PYTHON("2000")},
                .small = PYTHON("300"),
                .env = python_env},
        {.name = "git", .needs = "/usr/bin/git", .argv = {"git", "help", "-a"}},
};

static const char source[] = "#include <map>\n#include <string>\n"
                             "int f(const std::map<std::string, int> &m)\n"
                             "{ int n = 0; for (auto &e : m) n += e.second; return n; }\n";
static const char small_source[] =
        "template <typename T> struct list { T head; list *tail; T sum() const\n"
        "{ return tail ? head + tail->sum() : head; } };\n"
        "long f(const list<long> &l, const list<int> &k) { return l.sum() + k.sum(); }\n";

static void visit_compiler(bool small, void (*visit)(const struct subject *subject))
{
	char *path = subject_source("in.cpp", small ? small_source : source);
	struct subject subject = {.name = "gcc", .argv = WORDS("gcc", "-O2", "-c", path, "-o", "/dev/null")};

	visit(&subject);
	subject_remove(path);
}

/* One small program, over and over. */
static void visit_children(bool small, void (*visit)(const struct subject *subject))
{
	struct subject subject = {
	        .name = "children", .argv = WORDS("sh", "-c", small ? SHELL("100") : SHELL("500"), "@pairs")};

	visit(&subject);
}

static void visit_program(
        const struct program *program, bool small, void (*visit)(const struct subject *subject))
{
	const char *argv[N_ELEMENTS(program->argv) + 1] = {NULL};
	struct subject subject = {.name = program->name, .argv = argv, .env = program->env};
	size_t n = 0;

	if (program->needs && access(program->needs, X_OK) != 0)
		cr_skip_test("%s is not installed", program->needs);
	for (; n < N_ELEMENTS(program->argv) && program->argv[n]; n++)
		argv[n] = program->argv[n];
	if (small && program->small)
		argv[n - 1] = program->small;
	visit(&subject);
}

void program_visit(const char *name, bool small, void (*visit)(const struct subject *subject))
{
	const char *reason = machine_why_no_capture();

	if (reason)
		cr_skip_test("no capture here: %s", reason);
	if (strcmp(name, "gcc") == 0) {
		visit_compiler(small, visit);
		return;
	}
	if (strcmp(name, "children") == 0) {
		visit_children(small, visit);
		return;
	}
	for (size_t i = 0; i < N_ELEMENTS(programs); i++) {
		if (strcmp(programs[i].name, name) == 0) {
			visit_program(&programs[i], small, visit);
			return;
		}
	}
	cr_assert_fail("no program %s", name);
}
