/* test_fifo.c: the two FIFOs in a directory that others write to. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipes/fifo.h"
#include "support/host.h"

#define NOBODY 65534

static struct console console;
static char *control, *answer;

static void set_up(void)
{
	host_init();
	console_init(&console, open("/dev/null", O_WRONLY | O_CLOEXEC));
	control = host_path("ctl");
	answer = host_path("ack");
}

TestSuite(fifo, .init = set_up, .fini = host_deinit);

static int make(struct fifo_pair *pair)
{
	*pair = FIFO_PAIR_NONE;
	return fifo_pair_init(pair, control, answer, getuid(), getgid(), &console);
}

static void expect_empty(void)
{
	char *parent = host_path(".");
	glob_t found;

	cr_expect_eq(glob(host_path("*"), 0, NULL, &found), GLOB_NOMATCH, "something is left in %s", parent);
}

Test(fifo, made_and_removed)
{
	struct fifo_pair pair;
	struct stat status;
	char data[3];

	umask(0);
	cr_assert_eq(make(&pair), 0);
	cr_assert_eq(lstat(control, &status), 0);
	cr_expect_eq(status.st_mode, S_IFIFO | 0600);
	cr_assert_eq(lstat(answer, &status), 0);
	cr_expect_eq(status.st_mode, S_IFIFO | 0600);
	cr_expect_eq(fcntl(pair.control.fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR | O_NONBLOCK);
	cr_expect_eq(fcntl(pair.answer.fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR | O_NONBLOCK);
	cr_expect_eq(fcntl(pair.answer.fd, F_GETFD), FD_CLOEXEC);
	cr_expect_eq(write(pair.control.fd, "abc", 3), 3);
	cr_expect_eq(read(pair.control.fd, data, 3), 3);
	fifo_pair_deinit(&pair);
	expect_empty();
}

Test(fifo, of_the_benchmarks_user)
{
	struct fifo_pair pair = FIFO_PAIR_NONE;
	struct stat status;

	host_need_root();
	cr_assert_eq(fifo_pair_init(&pair, control, answer, NOBODY, NOBODY, &console), 0);
	cr_assert_eq(lstat(answer, &status), 0);
	cr_expect(status.st_uid == NOBODY && status.st_gid == NOBODY);
	fifo_pair_deinit(&pair);
	expect_empty();
}

Test(fifo, second_runner_is_refused)
{
	struct fifo_pair first, second;
	struct stat before, after;

	cr_assert_eq(make(&first), 0);
	cr_assert_eq(stat(control, &before), 0);
	cr_expect_eq(make(&second), -EBUSY);
	cr_assert_eq(stat(control, &after), 0);
	cr_expect_eq(before.st_ino, after.st_ino);
	fifo_pair_deinit(&first);
	cr_expect_eq(make(&second), 0);
	fifo_pair_deinit(&second);
	expect_empty();
}

/* What is not the runner's is left as it is. */
Test(fifo, what_is_not_ours)
{
	struct fifo_pair pair;
	char *target = host_path("target"), link[64] = "";

	host_write(target, "precious", 0600);
	cr_assert_eq(symlink(target, control), 0);
	cr_expect_eq(make(&pair), -EEXIST);
	cr_expect_gt(readlink(control, link, sizeof(link)), 0);
	unlink(control);
	host_write(control, "precious", 0600);
	cr_expect_eq(make(&pair), -EEXIST);
	cr_expect_str_eq(host_read(control), "precious");
	unlink(control);
	cr_assert_eq(mkdir(control, 0700), 0);
	cr_expect_eq(make(&pair), -EEXIST);
	rmdir(control);
	/* The second path: the first pipe goes again. */
	cr_assert_eq(symlink(target, answer), 0);
	cr_expect_eq(make(&pair), -EEXIST);
	cr_expect(access(control, F_OK) < 0);
	cr_expect_str_eq(host_read(target), "precious");
}

/* A symbolic link to a FIFO, and a FIFO of somebody else. */
Test(fifo, pipes_that_are_not_ours)
{
	struct fifo_pair pair;
	char *target = host_path("target");

	cr_assert_eq(mkfifo(target, 0600), 0);
	cr_assert_eq(symlink(target, control), 0);
	cr_expect_eq(make(&pair), -EEXIST);
	unlink(control);
	host_need_root();
	cr_assert_eq(mkfifo(control, 0666), 0);
	cr_assert_eq(chown(control, NOBODY, NOBODY), 0);
	cr_expect_eq(make(&pair), -EEXIST);
	cr_expect_eq(access(control, F_OK), 0);
}

Test(fifo, of_a_dead_runner)
{
	struct fifo_pair pair;
	struct stat stale, fresh;
	int reader, status;
	pid_t pid = fork();

	if (pid == 0) {
		_exit(make(&pair) == 0 && write(pair.control.fd, "old", 3) == 3 &&
		        kill(getpid(), SIGKILL) == 0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status));
	cr_assert_eq(stat(control, &stale), 0);
	/* A client of the dead one is still there: nothing it says is heard. */
	reader = open(control, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	cr_assert_eq(write(reader, "old", 3), 3);
	cr_assert_eq(make(&pair), 0);
	cr_assert_eq(stat(control, &fresh), 0);
	cr_expect_neq(stale.st_ino, fresh.st_ino);
	cr_expect_eq(read(pair.control.fd, &status, 1), -1);
	cr_expect_eq(errno, EAGAIN);
	fifo_pair_deinit(&pair);
	close(reader);
	expect_empty();
}

/* Many runners at one moment: one of them gets the pipes at a time, and none is left at the end. */
Test(fifo, race)
{
	unsigned n_listened = 0;
	struct stat status;
	int wait_status;

	cr_assert_eq(mkfifo(control, 0600), 0);
	for (int i = 0; i < 8; i++) {
		if (fork() != 0)
			continue;
		for (int round = 0; round < 200; round++) {
			struct fifo_pair pair;
			int r = make(&pair);

			if (r < 0 && r != -EBUSY)
				_exit(200);
			if (r < 0)
				continue;
			n_listened++;
			if (lstat(control, &status) < 0 || status.st_ino != pair.control.inode ||
			        lstat(answer, &status) < 0 || status.st_ino != pair.answer.inode)
				_exit(201);
			fifo_pair_deinit(&pair);
		}
		_exit(n_listened > 100 ? 100 : (int)n_listened);
	}
	n_listened = 0;
	while (wait(&wait_status) > 0) {
		cr_expect(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) <= 100, "%d", wait_status);
		n_listened += (unsigned)WEXITSTATUS(wait_status);
	}
	cr_expect_gt(n_listened, 0);
	expect_empty();
}

Test(fifo, who_has_it_open)
{
	struct fifo_pair pair;
	int ends[2];
	char byte;
	pid_t pid;

	host_need_root();
	cr_assert_eq(make(&pair), 0);
	cr_expect(!fifo_is_open_elsewhere(&pair.control));
	cr_assert_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		int fd = open(control, O_WRONLY | O_CLOEXEC);

		close(pair.control.fd);
		close(pair.answer.fd);
		(void)!write(ends[1], "x", 1);
		pause();
		_exit(fd);
	}
	cr_assert_eq(read(ends[0], &byte, 1), 1);
	cr_expect(fifo_is_open_elsewhere(&pair.control));
	cr_expect(!fifo_is_open_elsewhere(&pair.answer));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_expect(!fifo_is_open_elsewhere(&pair.control));
	fifo_pair_deinit(&pair);
}
