/* Proves that equal texts have equal addresses, and that what comes out can be written anywhere. */
#include "resolve/texts.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *add(struct texts *texts, const char *text, size_t n)
{
	const char *string;

	cr_assert_eq(texts_add(texts, text, n, &string), 0);
	return string;
}

Test(texts, equal_text_has_one_address)
{
	const char *addresses[5000];
	struct texts *texts;
	char text[32];

	cr_assert_eq(texts_new(&texts), 0);
	for (int i = 0; i < 5000; i++)
		addresses[i] = add(texts, text, (size_t)sprintf(text, "name %d", i));
	for (int i = 0; i < 5000; i++) {
		size_t n = (size_t)sprintf(text, "name %d", i);

		cr_assert_eq(add(texts, text, n), addresses[i]);
		cr_assert_str_eq(addresses[i], text);
	}
	cr_assert_eq(add(texts, "", 0), add(texts, "x", 0));
	texts_free(texts);
}

static void expect(const char *text, size_t n, const char *clean)
{
	struct texts *texts;

	cr_assert_eq(texts_new(&texts), 0);
	cr_expect_str_eq(add(texts, text, n), clean);
	cr_expect_eq(add(texts, text, n), add(texts, clean, strlen(clean)));
	texts_free(texts);
}

Test(texts, only_valid_text_comes_out)
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
