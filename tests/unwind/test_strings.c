/* Proves that equal texts have equal addresses, and that what comes out can be written anywhere. */
#include "resolve/strings.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *add(struct strings *strings, const char *text, size_t n)
{
	const char *string;

	cr_assert_eq(strings_add(strings, text, n, &string), 0);
	return string;
}

Test(strings, equal_text_has_one_address)
{
	const char *addresses[5000];
	struct strings *strings;
	char text[32];

	cr_assert_eq(strings_new(&strings), 0);
	for (int i = 0; i < 5000; i++)
		addresses[i] = add(strings, text, (size_t)sprintf(text, "name %d", i));
	for (int i = 0; i < 5000; i++) {
		size_t n = (size_t)sprintf(text, "name %d", i);

		cr_assert_eq(add(strings, text, n), addresses[i]);
		cr_assert_str_eq(addresses[i], text);
	}
	cr_assert_eq(add(strings, "", 0), add(strings, "x", 0));
	strings_free(strings);
}

static void expect(const char *text, size_t n, const char *clean)
{
	struct strings *strings;

	cr_assert_eq(strings_new(&strings), 0);
	cr_expect_str_eq(add(strings, text, n), clean);
	cr_expect_eq(add(strings, text, n), add(strings, clean, strlen(clean)));
	strings_free(strings);
}

Test(strings, only_valid_text_comes_out)
{
	expect("a\nb\tc\0d\x7f", 8, "a?b?c?d?");
	expect("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 12, "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
	expect("\xc3", 1, "?");                /* cut */
	expect("\xc0\xaf", 2, "??");           /* overlong */
	expect("\xe0\x9f\xbf", 3, "???");      /* overlong */
	expect("\xed\xa0\x80", 3, "???");      /* surrogate */
	expect("\xf4\x90\x80\x80", 4, "????"); /* beyond the last character */
	expect("\xff\xfe", 2, "??");
	expect("\xe2\x82x", 3, "??x");
}
