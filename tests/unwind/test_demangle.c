/* Proves that names are demangled in every scheme, and that no name does harm. */
#include "resolve/demangle.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

static void expect(const char *symbol, const char *name)
{
	CLEANUP_FREE char *found = NULL;

	cr_assert_eq(demangle(symbol, &found), 0);
	cr_expect_str_eq(found, name, "%s gives %s", symbol, found);
}

Test(demangle, cplusplus)
{
	expect("_Znwm", "operator new(unsigned long)");
	expect("_ZN3foo3barEv", "foo::bar()");
	expect("_ZNSt6vectorIiSaIiEE9push_backEOi",
	        "std::vector<int, std::allocator<int> >::push_back(int&&)");
	expect("_Z3addIiET_S0_S0_", "add<int>(int, int)");
	expect("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
}

/* Examples of the Rust RFC 2603, and names as rustc 1.6x writes them. */
Test(demangle, rust)
{
	expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	expect("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	       "3bar17h930b740aa94f1d3aE",
	        "<Test + 'static as foo::Bar<Test>>::bar");
	expect("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	expect("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
	        "<std::path::PathBuf>::new");
	expect("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
}

Test(demangle, plain_and_broken)
{
	expect("malloc", "malloc");
	expect("", "");
	expect("i", "i");
	expect("_Z", "_Z");
	expect("_ZN", "_ZN");
	expect("_R", "_R");
	expect("_ZN3foo", "_ZN3foo");
}

Test(demangle, suffixes)
{
	expect("work.cold", "work");
	expect("work.part.0", "work");
	expect("work.constprop.0.isra.0", "work");
	expect("_ZN3foo3barEv.part.12", "foo::bar()");
	expect("_ZN3foo3barEv.llvm.1234567890", "foo::bar()");
	expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.99", "core::fmt::Formatter::pad");
	/* Not what compilers append. */
	expect("script.0", "script.0");
	expect(".cold", ".cold");
	expect("a.b", "a.b");
}

static char *nested_name(size_t depth)
{
	char *text = malloc(depth * 3 + 16);
	size_t n = 0;

	cr_assert_not_null(text);
	n += (size_t)sprintf(text, "_Z1f");
	for (size_t i = 0; i < depth; i++)
		n += (size_t)sprintf(text + n, "PF");
	sprintf(text + n, "v");
	return text;
}

/* Boost and Eigen have names of several thousand characters. */
Test(demangle, long_names)
{
	char symbol[6000] = "_ZN", name[6000] = "";
	size_t n = 3, m = 0;

	for (unsigned i = 0; i < 500; i++) {
		n += (size_t)sprintf(symbol + n, "5n%04u", i);
		m += (size_t)sprintf(name + m, "%sn%04u", i ? "::" : "", i);
	}
	strcpy(symbol + n, "Ev");
	strcpy(name + m, "()");
	expect(symbol, name);
}

/* Substitutions double the text each time: a few hundred characters stand for more than memory holds. */
Test(demangle, explosive_names, .timeout = 20)
{
	char symbol[8000] = "_Z1fSt4pairIiiE";
	size_t n = strlen(symbol);

	for (unsigned i = 0; i < 60; i++)
		n += (size_t)sprintf(symbol + n, i < 2 ? "St4pairIS_S_E" : "St4pairIS%c_S%c_E",
		        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36],
		        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36]);
	for (size_t length = 4; length < n; length += 7) {
		CLEANUP_FREE char *part = strndup(symbol, length), *found = NULL;

		cr_assert_eq(demangle(part, &found), 0);
		cr_assert_leq(strlen(found), DEMANGLE_MAX_OUTPUT);
	}
}

Test(demangle, deep_names, .timeout = 60)
{
	for (size_t depth = 1; depth < 6000; depth = depth * 2 + 1) {
		CLEANUP_FREE char *symbol = nested_name(depth), *found = NULL;

		cr_assert_eq(demangle(symbol, &found), 0);
	}
}

Test(demangle, random_names, .timeout = 120)
{
	static const char letters[] = "_ZNSt4pairIEvPKcT_S0JDpXstLb1hRF2iCs.$u20";
	static const char *const starts[] = {"_ZN", "_Z", "_RNv", "_RIN", "_GLOBAL_"};

	srandom(3);
	for (size_t round = 0; round < 100000; round++) {
		char symbol[80];
		CLEANUP_FREE char *found = NULL;
		size_t n = (size_t)sprintf(symbol, "%s", starts[(size_t)random() % N_ELEMENTS(starts)]);

		while (n < 8 + round % 70)
			symbol[n++] = letters[(size_t)random() % (sizeof(letters) - 1)];
		symbol[n] = '\0';
		cr_assert_eq(demangle(symbol, &found), 0);
	}
}
