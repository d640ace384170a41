/* test_gate.c: conditions for --fail-on. */
#include <criterion/criterion.h>
#include <string.h>

#include "report/gate.h"
#include "util/cleanup.h"

static struct gate parsed(const char *text)
{
	const char *why = NULL;
	struct gate gate;

	cr_assert_eq(gate_parse(text, &gate, &why), 0, "%s: %s", text, why);
	return gate;
}

static bool fails(const char *text, uint64_t old, uint64_t new)
{
	struct gate gate = parsed(text);
	bool failed = gate_fails(&gate, old, new);

	gate_deinit(&gate);
	return failed;
}

Test(gate, relative_growth_is_exact)
{
	cr_assert(!fails("peak>+5%", 1000, 1050));
	cr_assert(fails("peak>+5%", 1000, 1051));
	cr_assert(!fails("peak>+0%", 7, 7));
	cr_assert(fails("peak>+0%", 7, 8));
	cr_assert(!fails("peak>+5%", 1000, 1));
	cr_assert(fails("peak>+5%", 0, 1)); /* from nothing, any growth is infinite */
	cr_assert(!fails("peak>+5%", 0, 0));
	cr_assert(!fails("peak>+0.5%", 200, 201));
	cr_assert(fails("peak>+0.499999%", 200, 201));
	cr_assert(!fails("total>+100%", UINT64_MAX / 2, UINT64_MAX - 1));
	cr_assert(fails("total>+99.9%", UINT64_MAX / 2, UINT64_MAX - 1));
	cr_assert(fails("total>+18446744073709%", 1, UINT64_MAX));
}

Test(gate, absolute_limits_and_units)
{
	cr_assert(!fails("leak>+1kB", 500, 1500));
	cr_assert(fails("leak>+1kB", 500, 1501));
	cr_assert(!fails("leak>+1KiB", 500, 1524));
	cr_assert(fails("leak>+1KiB", 500, 1525));
	cr_assert(fails("leak>0", 9, 1));
	cr_assert(!fails("leak>0", 9, 0));
	cr_assert(!fails("peak>1.5MiB", 0, 1572864));
	cr_assert(fails("peak>1.5MiB", 0, 1572865));
	cr_assert(!fails("total>2GB", 0, 2000000000));
	cr_assert(!fails("total>2GiB", 0, UINT64_C(2) << 30));
	cr_assert(fails("count>100", 0, 101));
	cr_assert(fails("temporary>+2", 3, 6));
	cr_assert(!fails("peak>18446744073709551615", 0, UINT64_MAX));
}

Test(gate, refuses_what_it_does_not_understand)
{
	static const char *const bad[] = {"", "peak", "peak>", "peak>+", "peak>5%", "peak>-5%", "peak>+5",
	        "peak >+5%", "peak>+5 %", "peak>+5%x", "peak>+.5%", "peak>+5.%", "peak>+1.5.5%", "peak>5k",
	        "peak>5KB", "Peak>+5%", "peek>+5%", "count>+5kB", "count>5B", "peak@>+5%", "peak@a;;b>+5%",
	        "peak@;>1", "peak@a;>1", "peak>18446744073709551616", "peak>18446744073709552kB",
	        "peak>+99999999999999999999%", "peak>0x10", "peak>1.5", "leak>1.0001kB", "peak>=5", "peak<5",
	        "peak>1e3", ">5", "@f>5", "peak>+0.0000001%"};
	const char *why;
	struct gate gate;

	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		why = NULL;
		if (strcmp(bad[i], "peak>+5") == 0)
			continue; /* bytes without a unit are bytes */
		cr_assert_eq(gate_parse(bad[i], &gate, &why), -EINVAL, "%s", bad[i]);
		cr_assert(why && *why, "%s", bad[i]);
	}
}

struct path {
	const char *names[8]; /* innermost first */
};

static const char *get_name(const void *context, uint32_t index)
{
	return ((const struct path *)context)->names[index];
}

static bool matches(const char *text, const struct path *path, uint32_t n)
{
	struct gate gate = parsed(text);
	bool matched = gate_matches(&gate, get_name, path, n);

	gate_deinit(&gate);
	return matched;
}

Test(gate, call_paths)
{
	const struct path path = {{"malloc", "operator new(unsigned long)",
	        "std::vector<int>::push_back(int&&)", "load(char const*)", "load(char const*)", "main"}};

	cr_assert(matches("peak>0", &path, 6));
	cr_assert(matches("peak@main>0", &path, 6));
	cr_assert(matches("peak@malloc>0", &path, 6));
	cr_assert(matches("peak@load>0", &path, 6));
	cr_assert(matches("peak@load(char const*)>0", &path, 6));
	cr_assert(matches("peak@main;load>0", &path, 6));
	cr_assert(matches("peak@main;load;load;std::vector<int>::push_back>0", &path, 6));
	cr_assert(!matches("peak@main;load;std::vector<int>::push_back>0", &path, 6));
	cr_assert(matches("peak@load;std::vector<int>::push_back(int&&)>0", &path, 6));
	cr_assert(!matches("peak@load;main>0", &path, 6)); /* outer before inner */
	cr_assert(!matches("peak@loa>0", &path, 6));
	cr_assert(!matches("peak@load(char const*)x>0", &path, 6));
	cr_assert(!matches("peak@main;load;load;load>0", &path, 6));
	cr_assert(!matches("peak@main>0", &path, 5));
	cr_assert(!matches("peak@main>0", &path, 0));
}

Test(gate, names_with_and_without_parameters)
{
	cr_assert(gate_names("f", "f"));
	cr_assert(gate_names("f", "f(int)"));
	cr_assert(gate_names("f", "f(void (*)(int), long) const"));
	cr_assert(gate_names("f", "f(int) [clone .part.0]"));
	cr_assert(!gate_names("f", "g(f)"));
	cr_assert(!gate_names("", "(int)"));
	cr_assert(gate_names("(anonymous namespace)::f", "(anonymous namespace)::f(int)"));
	cr_assert(!gate_names("", "(anonymous namespace)::f"));
	cr_assert(gate_names("A::operator()", "A::operator()(int) const"));
	cr_assert(gate_names("A::operator()", "A::operator()"));
	cr_assert(!gate_names("A::operator", "A::operator()"));
	cr_assert(gate_names("operator>>", "operator>>(S&, int)"));
	cr_assert(!gate_names("f<void ", "f<void (int)>"));
	cr_assert(!gate_names("f", "f(int"));
	cr_assert(!gate_names("f", "f)"));
}
