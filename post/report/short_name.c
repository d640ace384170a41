/* short_name.c: brackets, and the operators that look like some. */
#include "report/short_name.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/utf8.h"

#define ELLIPSIS "…"

/* Longer names are only cut: looking for the ends of their brackets could take forever. */
#define MAX_WORK 4096

/* The length of an operator's name at `at` that is written with angle brackets or parentheses, else 0. */
static size_t operator_length(const char *name, const char *at)
{
	static const char *const signs[] = {
	        "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "<", ">"};
	const size_t n_word = strlen("operator");

	if ((size_t)(at - name) < n_word || memcmp(at - n_word, "operator", n_word) != 0)
		return strncmp(at, "->", 2) == 0 ? 2 : 0;
	for (size_t i = 0; i < N_ELEMENTS(signs); i++)
		if (strncmp(at, signs[i], strlen(signs[i])) == 0)
			return strlen(signs[i]);
	return 0;
}

/* The end of the bracketed text that begins at `at`: behind the closing bracket, or NULL where there is none.
 */
static const char *skip_brackets(const char *name, const char *at, char open, char close)
{
	const char *inner;
	size_t depth = 0, n;

	while (*at) {
		n = operator_length(name, at);
		if (n) {
			at += n;
			continue;
		}
		/* Expressions in template arguments, `A<(n > 3)>`, stand in parentheses. */
		inner = open == '<' && *at == '(' ? skip_brackets(name, at, '(', ')') : NULL;
		if (inner) {
			at = inner;
			continue;
		}
		depth += *at == open;
		if (*at++ == close && --depth == 0)
			return at;
	}
	return NULL;
}

/* Writes the name without what is in the outermost brackets of one kind. `to` has room: an ellipsis is put
 * only where it is not longer than what it stands for. */
static void leave_out(const char *name, char open, char close, char *to)
{
	const char *at = name, *end;
	size_t n;

	while (*at) {
		n = operator_length(name, at);
		end = !n && *at == open ? skip_brackets(name, at, open, close) : NULL;
		if (end && (size_t)(end - at) >= strlen(ELLIPSIS) + 2) {
			*to++ = open;
			to = stpcpy(to, ELLIPSIS);
			*to++ = close;
			at = end;
			continue;
		}
		n = n ? n : 1;
		memcpy(to, at, n);
		to += n;
		at += n;
	}
	*to = '\0';
}

/* Cuts at a character's border. */
static void cut(char *name, size_t limit)
{
	size_t n = 0, length;

	while (name[n]) {
		length = utf8_length(name + n, strnlen(name + n, 4));
		length = length ? length : 1;
		if (n + length > limit - strlen(ELLIPSIS))
			break;
		n += length;
	}
	strcpy(name + n, ELLIPSIS);
}

char *short_name(const char *name, size_t limit)
{
	CLEANUP_FREE char *shorter = strdup(name), *work = NULL;

	if (!shorter || !limit || strlen(shorter) <= limit)
		return STEAL_PTR(shorter);
	if (strlen(name) > MAX_WORK && limit > strlen(ELLIPSIS)) {
		cut(shorter, limit);
		return STEAL_PTR(shorter);
	}
	work = malloc(strlen(name) + 1);
	if (!work)
		return NULL;
	leave_out(name, '<', '>', work);
	leave_out(work, '(', ')', shorter);
	if (strlen(work) <= limit)
		return STEAL_PTR(work);
	if (strlen(shorter) > limit && limit > strlen(ELLIPSIS))
		cut(shorter, limit);
	return STEAL_PTR(shorter);
}
