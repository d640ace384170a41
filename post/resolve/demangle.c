/* demangle.c: names of C++ and Rust as people wrote them.
 *
 * libiberty knows every scheme that gcc, clang and rustc emit, also Rust's v0, which __cxa_demangle does not.
 * Licence: LGPL 2.1 or later, with permission to link the compiled file into other programs.
 */
#include "resolve/demangle.h"

#include <ctype.h>
#include <errno.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

/* Up to this length libiberty's own limits keep its recursion and its alloca small. Beyond they refuse every
 * name, and without them it needs a stack by the square of the length. */
#define PLAIN_LENGTH 1000
#define LONG_STACK   ((size_t)256 << 20)

struct demangling {
	const char *symbol;
	int options;
	char *text;
	size_t n;
	bool done;
	jmp_buf stop; /* a short name may stand for an endless one */
};

static void collect(const char *text, size_t n, void *context)
{
	struct demangling *demangling = context;

	if (n > DEMANGLE_MAX_OUTPUT - demangling->n)
		longjmp(demangling->stop, 1);
	if (n > 0)
		memcpy(demangling->text + demangling->n, text, n);
	demangling->n += n;
}

static void *run(void *context)
{
	struct demangling *demangling = context;
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP;

	demangling->done = false;
	if (setjmp(demangling->stop) != 0)
		return NULL;
	demangling->n = 0;
	demangling->done = rust_demangle_callback(demangling->symbol, options, collect, demangling) != 0;
	if (demangling->done || strncmp(demangling->symbol, "_R", 2) == 0)
		return NULL;
	demangling->n = 0;
	demangling->done = cplus_demangle_v3_callback(demangling->symbol, options | demangling->options,
	                           collect, demangling) != 0;
	return NULL;
}

static void run_with_large_stack(struct demangling *demangling)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes) != 0)
		return;
	demangling->options = DMGL_NO_RECURSE_LIMIT;
	if (pthread_attr_setstacksize(&attributes, LONG_STACK) == 0 &&
	        pthread_create(&thread, &attributes, run, demangling) == 0)
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

/* The length of `symbol` without one suffix of a part or copy of a function; its whole length if none. */
static size_t cut_suffix(const char *symbol, size_t n)
{
	static const char *const suffixes[] = {".cold", ".part", ".constprop", ".isra", ".lto_priv", ".llvm",
	        ".localalias", ".clone", ".warm", ".hot"};
	size_t end = n;

	while (end > 0 && (isdigit((unsigned char)symbol[end - 1]) || symbol[end - 1] == '.'))
		end--;
	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		size_t length = strlen(suffixes[i]);

		if (end > length && memcmp(symbol + end - length, suffixes[i], length) == 0)
			return end - length;
	}
	return n;
}

static bool is_mangled(const char *symbol)
{
	return strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0 ||
	       strncmp(symbol, "_GLOBAL_", 8) == 0;
}

int demangle(const char *symbol, char **ret_name)
{
	CLEANUP_FREE char *plain = NULL, *text = NULL;
	struct demangling demangling;
	size_t n = strlen(symbol), shorter;
	char *name;

	while ((shorter = cut_suffix(symbol, n)) < n)
		n = shorter;
	plain = strndup(symbol, n);
	if (!plain)
		return -ENOMEM;
	if (!is_mangled(plain) || n > DEMANGLE_MAX_INPUT) {
		*ret_name = STEAL_PTR(plain);
		return 0;
	}
	text = malloc(DEMANGLE_MAX_OUTPUT);
	if (!text)
		return -ENOMEM;
	demangling = (struct demangling){.symbol = plain, .text = text};
	if (n <= PLAIN_LENGTH)
		run(&demangling);
	else
		run_with_large_stack(&demangling);
	name = demangling.done ? strndup(text, demangling.n) : STEAL_PTR(plain);
	if (!name)
		return -ENOMEM;
	*ret_name = name;
	return 0;
}
