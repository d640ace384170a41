/* test_text.c: text of unknown origin: UTF-8, JSON, terminals; and figures. */
#include <criterion/criterion.h>
#include <json.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/json_writer.h"
#include "report/number.h"
#include "report/short_name.h"
#include "report/style.h"
#include "util/utf8.h"

/* Whether the C library takes the n bytes for one character; its number. */
static bool convert(iconv_t converter, const char *bytes, size_t n, uint32_t *ret_character)
{
	char *in = (char *)(uintptr_t)bytes, *out = (char *)ret_character;
	size_t n_in = n, n_out = sizeof(*ret_character);

	iconv(converter, NULL, NULL, NULL, NULL);
	return iconv(converter, &in, &n_in, &out, &n_out) == 0 && n_in == 0 && n_out == 0;
}

/* All sequences of two bytes, and of four around every border, as iconv sees them. */
Test(characters, agrees_with_iconv)
{
	static const unsigned char borders[] = {
	        0x01, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
	iconv_t converter = iconv_open("UTF-32LE", "UTF-8");
	uint32_t expected, character;
	bool valid, any;
	const char *at;
	size_t n;

	for (unsigned first = 1; first < 256; first++) {
		for (unsigned rest = 0; rest < 11 * 11 * 11; rest++) {
			const char text[5] = {(char)first, (char)borders[rest % 11],
			        (char)borders[rest / 11 % 11], (char)borders[rest / 121], 0};

			at = text;
			character = utf8_next(&at, &valid);
			any = false;
			for (n = 1; n <= 4 && !any; n++)
				any = convert(converter, text, n, &expected);
			cr_assert_eq(valid, any, "%02x %02x %02x %02x", first, text[1] & 255, text[2] & 255,
			        text[3] & 255);
			cr_assert_eq((size_t)(at - text), any ? n - 1 : 1);
			cr_assert_eq(character, any ? expected : first);
		}
	}
	iconv_close(converter);
}

/* A sequence that the end of the text cuts must not be read past. */
Test(characters, stops_at_the_end)
{
	const char *cut = strdup("\xf0\x9f\x98"), *at = cut;
	unsigned n = 0;
	bool valid;

	for (; *at; n++) {
		utf8_next(&at, &valid);
		cr_assert(!valid);
	}
	cr_assert_eq(n, 3);
	free((char *)(uintptr_t)cut);
}

static char *written(bool pretty, const char *text)
{
	char *buffer = NULL;
	size_t n;
	FILE *out = open_memstream(&buffer, &n);
	struct json_writer json;

	json_writer_init(&json, out, pretty);
	json_begin_object(&json);
	json_member_string(&json, "text", text);
	json_member_uint(&json, "largest", UINT64_MAX);
	json_put_key(&json, "list");
	json_begin_array(&json);
	json_put_int(&json, -1);
	json_put_bool(&json, true);
	json_put_string(&json, NULL);
	json_begin_array(&json);
	json_end_array(&json);
	json_begin_object(&json);
	json_end_object(&json);
	json_end_array(&json);
	json_end_object(&json);
	fclose(out);
	return buffer;
}

Test(json, says_what_it_was_told)
{
	static const char text[] = "a\"b\\c\n\t\x01\x7f</script>&<!--\xe2\x80\xa8 \xc3\xa9 \xf0\x9f\x98\x80";

	for (int pretty = 0; pretty < 2; pretty++) {
		char *buffer = written(pretty, text);
		json_object *root = json_tokener_parse(buffer), *value;

		cr_assert_not_null(root, "%s", buffer);
		cr_assert(json_object_object_get_ex(root, "text", &value));
		cr_assert_str_eq(json_object_get_string(value), text);
		cr_assert(json_object_object_get_ex(root, "largest", &value));
		cr_assert_eq(json_object_get_uint64(value), UINT64_MAX);
		cr_assert(json_object_object_get_ex(root, "list", &value));
		cr_assert_str_eq(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN),
		        "[-1,true,null,[],{}]");
		cr_assert_null(strpbrk(buffer, "<>&"));
		json_object_put(root);
		free(buffer);
	}
}

Test(json, is_valid_utf8_whatever_comes)
{
	char *buffer = written(false, "x\xff\xc3(\xed\xa0\x80y");
	json_object *root = json_tokener_parse(buffer), *value;

	cr_assert(json_object_object_get_ex(root, "text", &value));
	cr_assert_str_eq(json_object_get_string(value),
	        "x\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy");
	json_object_put(root);
	free(buffer);
}

static char *put(bool colour, enum style style, const char *string)
{
	char *buffer = NULL;
	size_t n;
	FILE *out = open_memstream(&buffer, &n);

	text_put(&(struct text_out){.out = out, .colour = colour}, style, string);
	fclose(out);
	return buffer;
}

Test(style, nothing_that_a_terminal_would_act_on)
{
	static const char evil[] = "a\x1b]0;title\x07\n\r\x7f\xc2\x9b"
	                           "31m\xff\xe2\x80\xae"
	                           "b\xc3\xa9";
	char *buffer = put(false, STYLE_BAD, evil);

	cr_assert_str_eq(buffer, "a\\x1b]0;title\\x07\\x0a\\x0d\\x7f\\xc2\\x9b"
	                         "31m\\xff\\xe2\\x80\\xae"
	                         "b\xc3\xa9");
	cr_assert_eq(text_width(evil), strlen(buffer) - 1);
	free(buffer);
	buffer = put(true, STYLE_BAD, "x");
	cr_assert_str_eq(buffer, "\033[31mx\033[0m");
	free(buffer);
}

Test(style, tables_are_aligned)
{
	static const char *const cells[] = {"name", "n", "last", "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
	        "12345", "x", "b", "7", "yy"};
	struct text_table *table;
	char *buffer = NULL;
	size_t n;
	FILE *out = open_memstream(&buffer, &n);

	cr_assert_eq(text_table_new(3, 2, &table), 0);
	for (size_t i = 0; i < 9; i++)
		cr_assert_eq(text_table_add(table, cells[i]), 0);
	text_table_write(table, &(struct text_out){.out = out}, "> ");
	fclose(out);
	cr_assert_str_eq(buffer, "> name       n  last\n> \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9  12345  "
	                         "x\n> b          7  yy\n");
	text_table_free(table);
	free(buffer);
}

Test(number, figures)
{
	char buffer[NUMBER_SIZE];

	cr_assert_str_eq(number_count(buffer, 0), "0");
	cr_assert_str_eq(number_count(buffer, 999), "999");
	cr_assert_str_eq(number_count(buffer, 1000), "1,000");
	cr_assert_str_eq(number_count(buffer, UINT64_MAX), "18,446,744,073,709,551,615");
	cr_assert_str_eq(number_bytes(buffer, 1023), "1023 B");
	cr_assert_str_eq(number_bytes(buffer, 1024), "1.00 KiB");
	cr_assert_str_eq(number_bytes(buffer, 1048575), "1.00 MiB");
	cr_assert_str_eq(number_bytes(buffer, UINT64_MAX), "16.00 EiB");
	cr_assert_str_eq(number_change(buffer, 5, 3, false), "-2");
	cr_assert_str_eq(number_change(buffer, 0, 2048, true), "+2.00 KiB");
	cr_assert_str_eq(number_change(buffer, 3, 3, false), "0");
	cr_assert_str_eq(number_percent(buffer, 1, 8), "12.5 %");
	cr_assert_str_eq(number_percent(buffer, 0, 0), "-");
	cr_assert_str_eq(number_duration(buffer, 999), "999 ns");
	cr_assert_str_eq(number_duration(buffer, 1500), "1.5 \xc2\xb5s");
	cr_assert_str_eq(number_duration(buffer, 2500000000), "2.500 s");
}

static void shortens(const char *name, size_t limit, const char *expected)
{
	char *made = short_name(name, limit);

	cr_assert_str_eq(made, expected);
	free(made);
}

Test(short_name, templates_first_then_parameters)
{
	static char large[4000001];

	shortens("main", 0, "main");
	shortens("std::vector<std::allocator<int> >::push_back(int&&)", 100,
	        "std::vector<std::allocator<int> >::push_back(int&&)");
	shortens("std::vector<std::allocator<int> >::push_back(int&&)", 40,
	        "std::vector<…>::push_back(int&&)");
	shortens("std::vector<std::allocator<int> >::push_back(int&&)", 32, "std::vector<…>::push_back(…)");
	shortens("std::vector<std::allocator<int> >::push_back(int&&)", 20, "std::vector<…>:…");
	shortens("f(std::map<int, char>, long, long, long)", 20, "f(…)");
	shortens("operator<< <char>(S&)", 20, "operator<< <…>(S&)");
	shortens("bool A<char, long>::operator<(A<char, long> const&)", 40,
	        "bool A<…>::operator<(A<…> const&)");
	shortens("A<char, long>::operator->() const", 30, "A<…>::operator->() const");
	shortens("std::function<void (B<(x > 3)>)>::operator()(int) const", 50,
	        "std::function<…>::operator()(int) const");
	shortens("<closed", 4, "<…");
	shortens("unclosed<template<int", 12, "unclosed<…");
	shortens(">>>>)))((((<<<<", 8, ">>>>)…");
	shortens("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 6, "\xc3\xa9…");
	memset(large, '<', sizeof(large) - 1);
	shortens(large, 8, "<<<<<…");    /* at once */
	shortens("abcdef", 2, "abcdef"); /* no room even for the sign of a cut */
}

/* Whatever comes: no longer than asked, and no crash. */
Test(short_name, any_text)
{
	static const char alphabet[] = "a<>()-=:* operator\xc3\xa9";
	char name[64], *made;

	srand(1);
	for (unsigned round = 0; round < 200000; round++) {
		size_t n = (size_t)rand() % (sizeof(name) - 1), limit = 4 + (size_t)rand() % 40;

		for (size_t i = 0; i < n; i++)
			name[i] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
		name[n] = '\0';
		made = short_name(name, limit);
		cr_assert_leq(strlen(made), limit > n ? n : limit, "%s: %s", name, made);
		free(made);
	}
}
