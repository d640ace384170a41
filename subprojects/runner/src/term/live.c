/* live.c: the line that shows how things are going, while they are. */
#include "term/live.h"

#include <stdio.h>
#include <time.h>

#include "util/cleanup.h"

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define PERIOD_NS (200 * NS_PER_MS)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void live_start(struct live *live, struct console *console)
{
	uint64_t now = now_ns();

	*live = (struct live){.console = console, .started_ns = now, .next_ns = now + PERIOD_NS};
}

uint64_t live_elapsed(const struct live *live)
{
	return now_ns() - live->started_ns;
}

int live_timeout(const struct live *live)
{
	uint64_t now = now_ns();

	if (!console_is_live(live->console))
		return -1;
	return now >= live->next_ns ? 0 : (int)((live->next_ns - now) / NS_PER_MS) + 1;
}

bool live_is_due(struct live *live)
{
	uint64_t now = now_ns();

	if (!console_is_live(live->console) || now < live->next_ns)
		return false;
	live->next_ns = now + PERIOD_NS;
	return true;
}

void live_show_figures(struct live *live, const struct figures *figures)
{
	char *line CLEANUP_FREE = NULL;

	if (figures_line(figures, live_elapsed(live), console_columns(live->console), &line) == 0)
		console_show_line(live->console, line);
}

void live_show_progress(struct live *live, uint32_t thousandths, const char *what)
{
	static const char bar[] = "####################";
	char line[128];
	uint32_t done = thousandths > 1000 ? 1000 : thousandths;
	int n_marks = (int)(done * (sizeof(bar) - 1) / 1000);
	size_t n_columns = console_columns(live->console);

	snprintf(line, sizeof(line), "[%-20.*s] %3u %% %s", n_marks, bar, done / 10, what ? what : "");

	text_defuse(line);
	text_fit(line, n_columns);
	console_show_line(live->console, line);
}
