/* burst threads|processes N PAIRS DEPTH FOLDER: N threads or processes make PAIRS pairs of malloc and free
 * each, DEPTH frames down with all locals changing, so that no two stacks have the same bytes. Each makes a
 * file of its number in FOLDER when it has ended its work. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of no block that anything else in the program asks for. */
#define SIZE 77777

static unsigned long n_pairs, depth;
static const char *folder;

static void sign(unsigned long number)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%lu", folder, number);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

__attribute__((noinline, noclone)) static void descend(unsigned long left, unsigned long round)
{
	volatile unsigned long pad[8];

	for (unsigned i = 0; i < 8; i++)
		pad[i] = round * 0x9e3779b97f4a7c15ul + i;
	if (left == 0)
		free(malloc(SIZE));
	else
		descend(left - 1, round);
	pad[0] = pad[1];
}

static void *work(void *argument)
{
	unsigned long number = (unsigned long)argument;

	for (unsigned long i = 0; i < n_pairs; i++)
		descend(depth, i);
	sign(number);
	return NULL;
}

static int run_threads(unsigned long n)
{
	pthread_t threads[64];

	for (unsigned long i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			return 3;
	for (unsigned long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int run_processes(unsigned long n)
{
	int status, result = 0;

	for (unsigned long i = 0; i < n; i++) {
		pid_t child = fork();

		if (child < 0)
			return 4;
		if (child == 0) {
			work((void *)i);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		if (status != 0)
			result = 5;
	return result;
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 6 ? strtoul(argv[2], NULL, 10) : 0;

	if (n == 0 || n > 64)
		return 2;
	n_pairs = strtoul(argv[3], NULL, 10);
	depth = strtoul(argv[4], NULL, 10);
	folder = argv[5];
	sign(1000); /* begun */
	return strcmp(argv[1], "threads") == 0 ? run_threads(n) : run_processes(n);
}
