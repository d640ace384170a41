/* caller.c: what the runner was started with, so that the benchmark gets the same. */
#include "process/caller.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"

static int compare_fds(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static int note_fd(struct caller *caller, size_t *n_room, int fd)
{
	if (caller->n_fds == *n_room) {
		size_t n_more = *n_room ? *n_room * 2 : 16;
		int *fds = reallocarray(caller->fds, n_more, sizeof(*fds));

		if (!fds)
			return -ENOMEM;
		caller->fds = fds;
		*n_room = n_more;
	}
	caller->fds[caller->n_fds++] = fd;
	return 0;
}

static int note_fds(struct caller *caller)
{
	DIR *directory CLEANUP_CLOSEDIR = opendir("/proc/self/fd");
	struct dirent *entry;
	size_t n_room = 0;

	if (!directory)
		return -errno;
	while (errno = 0, (entry = readdir(directory))) {
		int fd = atoi(entry->d_name);
		int error;

		if (entry->d_name[0] == '.' || fd == dirfd(directory))
			continue;
		error = note_fd(caller, &n_room, fd);
		if (error < 0)
			return error;
	}
	if (errno)
		return -errno;
	if (caller->n_fds > 1)
		qsort(caller->fds, caller->n_fds, sizeof(*caller->fds), compare_fds);
	return 0;
}

int caller_init(struct caller *ret_caller)
{
	struct caller caller = {0};
	int error = note_fds(&caller);

	if (error < 0) {
		caller_deinit(&caller);
		return error;
	}
	sigprocmask(SIG_BLOCK, NULL, &caller.mask);
	for (int i = 1; i < NSIG; i++) {
		struct sigaction action;

		/* Fails for the two signals that the C library keeps for itself. */
		if (!sigaction(i, NULL, &action) && action.sa_handler == SIG_IGN)
			caller.ignored |= UINT64_C(1) << (i - 1);
	}
	for (int i = 0; i < (int)RLIM_NLIMITS; i++)
		if (getrlimit(i, &caller.limits[i]) < 0)
			caller.limits[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
	caller.umask = umask(0);
	umask(caller.umask);
	*ret_caller = caller;
	return 0;
}

void caller_deinit(struct caller *caller)
{
	free(caller->fds);
	*caller = (struct caller){0};
}

bool caller_ignores(const struct caller *caller, int signal_number)
{
	return caller->ignored >> (signal_number - 1) & 1;
}

/* Else one of the runner's own files would become the standard error that messages are written to. */
static int fill_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return -errno;
	} while (fd <= STDERR_FILENO);
	close(fd);
	return 0;
}

/* Limits of the benchmark that the runner's own files must not meet. */
static const int raised_limits[] = {RLIMIT_NOFILE, RLIMIT_FSIZE};

int caller_adapt(const struct caller *caller)
{
	int error = fill_standard_fds();

	if (error < 0)
		return error;
	for (size_t i = 0; i < N_ELEMENTS(raised_limits); i++) {
		struct rlimit limit = caller->limits[raised_limits[i]];

		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(raised_limits[i], &limit) < 0)
			return -errno;
	}
	umask(077);
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
	        signal(SIGCHLD, SIG_DFL) == SIG_ERR)
		return -errno;
	return 0;
}

static int restore_limits(const struct caller *caller)
{
	for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
		const struct rlimit *wanted = &caller->limits[i];
		struct rlimit now;

		if (getrlimit(i, &now) < 0)
			continue;
		if (now.rlim_cur == wanted->rlim_cur && now.rlim_max == wanted->rlim_max)
			continue;
		if (setrlimit(i, wanted) < 0)
			return -errno;
	}
	return 0;
}

/* Closes from `first` to `last` except keep_fd. */
static int close_span(unsigned first, unsigned last, unsigned keep_fd)
{
	if (first > last)
		return 0;
	if (keep_fd < first || keep_fd > last)
		return close_range(first, last, 0) < 0 ? -errno : 0;
	if (keep_fd > first && close_range(first, keep_fd - 1, 0) < 0)
		return -errno;
	if (keep_fd < last && close_range(keep_fd + 1, last, 0) < 0)
		return -errno;
	return 0;
}

static int close_own_fds(const struct caller *caller, int keep_fd)
{
	unsigned next = 0;

	for (size_t i = 0; i < caller->n_fds; i++) {
		unsigned fd = (unsigned)caller->fds[i];
		int error = fd > next ? close_span(next, fd - 1, (unsigned)keep_fd) : 0;

		if (error < 0)
			return error;
		next = fd + 1;
	}
	return close_span(next, UINT_MAX, (unsigned)keep_fd);
}

int caller_restore(const struct caller *caller, int keep_fd)
{
	int error = restore_limits(caller);

	if (error < 0)
		return error;
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, caller_ignores(caller, i) ? SIG_IGN : SIG_DFL);
	umask(caller->umask);
	return close_own_fds(caller, keep_fd);
}
