/* Proves that the stacks of programs with known call paths are exactly those paths, whatever way the programs are
 * compiled and linked, and that gdb sees the same. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/reader.h"
#include "fixtures/take.h"
#include "folder.h"
#include "resolve/resolver.h"
#include "samples.h"
#include "util/cleanup.h"

#define MAX_PATHS 4

/* From the allocator's caller to main or to where the thread starts. Names are divided by ", "; "name*n" stands for
 * n frames; "?" for code without a name. */
struct call_path {
	const char *names;
	enum stack_end end;
	bool stitched;
	bool beyond_gdb; /* gdb does not see where the stack ends, or how it goes on */
};

struct fixture {
	const char *program; /* stack-<program> */
	struct call_path paths[MAX_PATHS]; /* by the number given to take() */
};

#define DEEP   "deep*200, main"
#define MUTUAL "even, odd, even, odd, even, odd, even, odd, even, odd, even, main"
#define RECURSION(name) {name, {{.names = DEEP}, {.names = MUTUAL}}}

static const struct fixture fixtures[] = {
	RECURSION("recursion"),
	RECURSION("recursion-static"),
	RECURSION("recursion-static-pie"),
	RECURSION("recursion-no-pie"),
	RECURSION("recursion-lld"),
	RECURSION("recursion-no-hdr"),
	RECURSION("recursion-clang"),
	{"recursion-musl", {{.names = DEEP, .beyond_gdb = true}, {.names = MUTUAL, .beyond_gdb = true}}},
	{"recursion-musl-static", {{.names = DEEP, .beyond_gdb = true}, {.names = MUTUAL, .beyond_gdb = true}}},
	{"exceptions", {
		{.names = "shop::Derived::work(int) const, serve<int>(shop::Base const&, int), open(shop::Base const&, int), main"},
		{.names = "?"},
		{.names = "open(shop::Base const&, int), main"},
	}},
	{"callbacks", {{.names = "compare, ?, ?, qsort_r, sort, main"}, {.names = "compare_again, bsearch, search, main"}}},
};
