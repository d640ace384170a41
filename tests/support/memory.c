/* memory.c: strings in tests. */
#include "support/memory.h"

#include <stdarg.h>

char *test_text(const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		abort();
	va_end(arguments);
	return text;
}
