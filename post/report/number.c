/* number.c: figures as people read them; the same in every locale. */
#include "report/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/cleanup.h"

const char *number_count(char buffer[NUMBER_SIZE], uint64_t n)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	char *to = buffer;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return buffer;
}

const char *number_bytes(char buffer[NUMBER_SIZE], uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(buffer, NUMBER_SIZE, "%" PRIu64 " B", bytes);
		return buffer;
	}
	while (value >= 1023.995 && unit + 1 < N_ELEMENTS(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(buffer, NUMBER_SIZE, "%.2f %s", value, units[unit]);
	return buffer;
}

const char *number_change(char buffer[NUMBER_SIZE], uint64_t from, uint64_t to, bool bytes)
{
	uint64_t distance = to > from ? to - from : from - to;

	char figure[NUMBER_SIZE];

	if (bytes)
		number_bytes(figure, distance);
	else
		number_count(figure, distance);
	snprintf(buffer, NUMBER_SIZE, "%s%.40s", to > from ? "+" : to < from ? "-" : "", figure);
	return buffer;
}

const char *number_percent(char buffer[NUMBER_SIZE], uint64_t part, uint64_t whole)
{
	if (whole)
		snprintf(buffer, NUMBER_SIZE, "%.1f %%", (double)part * 100 / (double)whole);
	else
		strcpy(buffer, "-");
	return buffer;
}

const char *number_duration(char buffer[NUMBER_SIZE], uint64_t ns)
{
	if (ns < 1000)
		snprintf(buffer, NUMBER_SIZE, "%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		snprintf(buffer, NUMBER_SIZE, "%.1f µs", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(buffer, NUMBER_SIZE, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(buffer, NUMBER_SIZE, "%.3f s", (double)ns / 1e9);
	return buffer;
}
