/* text.h: numbers and foreign strings as people and JSON readers want them. */
#ifndef RUNNER_UTIL_TEXT_H
#define RUNNER_UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for any number the functions below write. */
#define TEXT_NUMBER_SIZE 40

/* `value` in groups of three: "12 044". */
void text_count(uint64_t value, char ret_text[TEXT_NUMBER_SIZE]);

/* Bytes with a decimal unit: "999 B", "604 kB", "1.9 MB". */
void text_bytes(uint64_t value, char ret_text[TEXT_NUMBER_SIZE]);

/* Nanoseconds as a duration: "950 ns", "12.3 ms", "1.2 s", "2 min 05 s", "1 h 02 min". */
void text_duration(uint64_t nanoseconds, char ret_text[TEXT_NUMBER_SIZE]);

/* How many terminal columns `text` takes: one per character of UTF-8. */
size_t text_columns(const char *text);

/* Cuts `text` to that many columns, between characters. */
void text_fit(char *text, size_t n_columns);

/* Puts '?' for every control character of `text`, so that a foreign string cannot drive the terminal. */
void text_defuse(char *text);

/* A copy of `text` that is valid UTF-8: every byte that is not becomes U+FFFD. NULL: out of memory. The
 * caller frees it. */
char *text_utf8(const char *text);

/* Whether all of `text` is well-formed UTF-8. */
bool text_is_utf8(const char *text);

/* Reads 1/0, true/false, yes/no in any case. -EINVAL: none of them. */
int text_parse_bool(const char *text, bool *ret_value);

/* Reads a decimal number from 0 to `maximum` with nothing around it. -EINVAL: no such number. */
int text_parse_number(const char *text, uint64_t maximum, uint64_t *ret_value);

#endif
