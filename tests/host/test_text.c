/* test_text.c: numbers as people read them; foreign strings made harmless. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

static void expect_text(void (*format)(uint64_t, char *), uint64_t value, const char *expected)
{
	char text[TEXT_NUMBER_SIZE];

	memset(text, 'x', sizeof(text));
	format(value, text);
	cr_expect_str_eq(text, expected);
}

Test(text, counts_have_groups_of_three)
{
	expect_text(text_count, 0, "0");
	expect_text(text_count, 999, "999");
	expect_text(text_count, 1000, "1 000");
	expect_text(text_count, 12044, "12 044");
	expect_text(text_count, 1000000, "1 000 000");
	expect_text(text_count, UINT64_MAX, "18 446 744 073 709 551 615");
}

Test(text, bytes_have_decimal_units)
{
	expect_text(text_bytes, 0, "0 B");
	expect_text(text_bytes, 999, "999 B");
	expect_text(text_bytes, 1000, "1.0 kB");
	expect_text(text_bytes, 604000, "604 kB");
	expect_text(text_bytes, 99949, "99.9 kB");
	expect_text(text_bytes, 99950, "100 kB");
	expect_text(text_bytes, 999499, "999 kB");
	expect_text(text_bytes, 999500, "1.0 MB");
	expect_text(text_bytes, 1900000, "1.9 MB");
	expect_text(text_bytes, UINT64_MAX, "18.4 EB");
}

Test(text, durations)
{
	expect_text(text_duration, 950, "950 ns");
	expect_text(text_duration, 1500, "1.5 us");
	expect_text(text_duration, 12340000, "12.3 ms");
	expect_text(text_duration, 999999999, "1.0 s");
	expect_text(text_duration, 1240000000, "1.2 s");
	expect_text(text_duration, 59949999999, "59.9 s");
	expect_text(text_duration, 125000000000, "2 min 05 s");
	expect_text(text_duration, 3725000000000, "1 h 02 min");
}

static void expect_utf8(const char *text, const char *expected)
{
	char *clean = text_utf8(text);

	cr_expect_str_eq(clean, expected);
	free(clean);
}

Test(text, utf8_is_kept_and_all_else_replaced)
{
	expect_utf8("", "");
	expect_utf8("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
	        "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
	expect_utf8("\xff", "\xef\xbf\xbd");
	expect_utf8("a\xc3", "a\xef\xbf\xbd");
	expect_utf8("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");
	expect_utf8("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	expect_utf8("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	expect_utf8("\xe2\x82z", "\xef\xbf\xbd\xef\xbf\xbdz");
}

static void expect_fit(const char *text, size_t n_columns, const char *expected)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", text);
	text_fit(copy, n_columns);
	cr_expect_str_eq(copy, expected);
	cr_expect_leq(text_columns(copy), n_columns);
}

Test(text, fits)
{
	expect_fit("abc", 4, "abc");
	expect_fit("abc", 3, "abc");
	expect_fit("abc", 2, "ab");
	expect_fit("abc", 0, "");
	expect_fit("a\xc3\xa9\xe2\x82\xac!", 3, "a\xc3\xa9\xe2\x82\xac");
	expect_fit("a\xc3\xa9\xe2\x82\xac!", 2, "a\xc3\xa9");
}

Test(text, control_characters_cannot_drive_a_terminal)
{
	char text[] = "a\033[2Jb\nc\x7f\xc2\x9b"
	              "1m \xc2\xa0";

	text_defuse(text);
	cr_expect_str_eq(text, "a?[2Jb?c???1m \xc2\xa0");
}

Test(text, booleans)
{
	static const char *const yes[] = {"1", "true", "YES", "Yes"};
	static const char *const no[] = {"0", "False", "no"};
	static const char *const neither[] = {"", "2", "on", "yess", "10"};
	bool value;

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		cr_expect(text_parse_bool(yes[i], &value) == 0 && value, "%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		cr_expect(text_parse_bool(no[i], &value) == 0 && !value, "%s", no[i]);
	for (size_t i = 0; i < sizeof(neither) / sizeof(neither[0]); i++)
		cr_expect_neq(text_parse_bool(neither[i], &value), 0, "%s", neither[i]);
}

Test(text, numbers)
{
	static const char *const none[] = {
	        "", "-1", "+1", " 1", "1 ", "0x1", "101", "99999999999999999999999"};
	uint64_t value = 0;

	cr_expect(text_parse_number("100", 100, &value) == 0 && value == 100);
	cr_expect(text_parse_number("007", 100, &value) == 0 && value == 7);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		cr_expect_neq(text_parse_number(none[i], 100, &value), 0, "%s", none[i]);
}
