/* catch.c: catch FILE [group|self]: counts signals, and writes into FILE what it got.
 *
 * Writes "ready PID" when it is, waits for the first signal and then a while for more. "group": moves to a
 * process group of its own before; "self": sends SIGTERM to its whole group itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 400

static volatile sig_atomic_t counts[NSIG];
static volatile sig_atomic_t n_all;

static void count(int number)
{
	counts[number]++;
	n_all++;
}

int main(int argc, char **argv)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	struct timespec left = {0, WAIT_MS * 1000000L};
	int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;

	if (fd < 0)
		return 99;
	if (argc > 2 && !strcmp(argv[2], "group") && setpgid(0, 0) < 0)
		return 97;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		signal(numbers[i], count);
	dprintf(fd, "ready %d\n", (int)getpid());
	if (argc > 2 && !strcmp(argv[2], "self"))
		kill(0, SIGTERM);
	for (int i = 0; i < 2000 && !n_all; i++)
		usleep(10000);
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
	dprintf(fd, "INT=%d TERM=%d HUP=%d QUIT=%d USR1=%d USR2=%d\n", (int)counts[SIGINT],
	        (int)counts[SIGTERM], (int)counts[SIGHUP], (int)counts[SIGQUIT], (int)counts[SIGUSR1],
	        (int)counts[SIGUSR2]);
	return 0;
}
