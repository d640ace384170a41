/* test_names.c: the last name of a process wins, in whichever order the names arrive. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "drain/names.h"

static const char *name_of(const struct names *names, uint32_t pid)
{
	for (size_t i = 0; i < names->n_entries; i++)
		if (names->entries[i].pid == pid)
			return names->entries[i].comm;
	return NULL;
}

Test(names, the_latest_wins)
{
	struct names names = {};

	cr_assert_eq(names_set(&names, 7, "first\0..........", 10, false), 0);
	cr_assert_eq(names_set(&names, 7, "second\0.........", 30, false), 0);
	cr_assert_eq(names_set(&names, 7, "between\0........", 20, false), 0);
	cr_assert_eq(names.n_entries, 1);
	cr_assert_str_eq(name_of(&names, 7), "second");
	names_deinit(&names);
}

Test(names, many_and_sixteen_bytes_without_an_end)
{
	struct names names = {};

	for (uint32_t pid = 1; pid <= 5000; pid++)
		cr_assert_eq(names_set(&names, pid, pid % 2 ? "odd\0............" : "sixteen-bytes-ok", pid, true), 0);
	cr_assert_eq(names.n_entries, 5000);
	cr_assert_str_eq(name_of(&names, 4999), "odd");
	cr_assert_str_eq(name_of(&names, 5000), "sixteen-bytes-ok");
	names_deinit(&names);
}

Test(names, those_that_live_are_asked)
{
	struct names names = {};

	cr_assert_eq(names_set(&names, getpid(), "before\0.........", 1, false), 0);
	cr_assert_eq(names_set(&names, 1, "ended\0..........", 1, true), 0);
	names_refresh(&names);
	cr_assert_str_neq(name_of(&names, getpid()), "before");
	cr_assert_str_eq(name_of(&names, 1), "ended");
	names_deinit(&names);
}
