/* progress.c: a bar on standard error. */
#include "memstacks/progress.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "util/cleanup.h"

#define FIRST_MS  1000
#define EVERY_MS  100
#define BAR_WIDTH 30

static volatile sig_atomic_t caught;

static void catch (int signal_number)
{
	caught = signal_number;
}

void progress_catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = catch, .sa_flags = SA_RESTART}, before;

	for (size_t i = 0; i < N_ELEMENTS(signals); i++) {
		/* What the caller ignores (nohup) stays ignored. */
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

int progress_signal(void)
{
	return caught;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void progress_init(struct progress *progress, bool quiet)
{
	*progress = (struct progress){.shown = !quiet && isatty(STDERR_FILENO), .begin = now_ms()};
}

static void draw(const char *what, unsigned thousandths)
{
	unsigned full = thousandths * BAR_WIDTH / 1000;

	fprintf(stderr, "\r\033[K%s [", what);
	for (unsigned i = 0; i < BAR_WIDTH; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %3u %%", thousandths / 10);
}

int progress_step(void *context, const char *what, unsigned thousandths)
{
	struct progress *progress = context;
	uint64_t now;

	if (caught)
		return -ECANCELED;
	if (!progress->shown)
		return 0;
	now = now_ms();
	if (now - progress->begin < FIRST_MS || now - progress->last < EVERY_MS)
		return 0;
	progress->last = now;
	progress->drawn = true;
	draw(what, thousandths);
	return 0;
}

void progress_clear(struct progress *progress)
{
	if (progress->drawn)
		fputs("\r\033[K", stderr);
	progress->drawn = false;
}
