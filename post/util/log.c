/* log.c: formatting of messages. */
#include "util/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void log_message(const struct log_sink *sink, enum log_level level, const char *format, ...)
{
	char text[1024];
	int saved = errno;
	va_list arguments;

	if (!sink || !sink->write)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	sink->write(sink->context, level, text);
	errno = saved;
}
