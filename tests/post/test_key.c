/* test_key.c: names of modules. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "profile/key.h"
#include "util/cleanup.h"

static void check(size_t index, const char *path, size_t n, const char *expected)
{
	CLEANUP_FREE char *key = key_make(index, path, n);

	cr_assert_str_eq(key, expected);
}

#define CHECK(index, path, expected) check(index, path, sizeof(path) - 1, expected)

Test(key, names)
{
	CHECK(0, "/lib/x86_64-linux-gnu/libc.so.6", "0__libc.so.6");
	CHECK(12, "relative", "12__relative");
	CHECK(1, "/", "1__");
	CHECK(1, "", "1__");
	CHECK(2, "/a/b (deleted)", "2__b (deleted)");
	CHECK(3, "/a/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "3__\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	CHECK(4, "/a/x\n\t\x7fy\0z", "4__x___y_z");
	/* A continuation alone, an overlong slash, a surrogate, beyond Unicode, cut. */
	CHECK(5, "/a/\x80|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82", "5___|__|___|____|__");
}

/* Cut to 200 bytes, never within a character. */
Test(key, long_names)
{
	char path[700], *key;

	memset(path, 'x', sizeof(path));
	key = key_make(7, path, sizeof(path));
	cr_assert_eq(strlen(key), 200);
	free(key);
	for (size_t i = 0; i + 2 < sizeof(path); i += 3)
		memcpy(path + i, "\xe2\x82\xac", 3);
	key = key_make(7, path, 699);
	cr_assert_eq(strlen(key), 198); /* "7__" and 65 characters of three bytes */
	cr_assert_str_eq(key + 195, "\xe2\x82\xac");
	free(key);
}
