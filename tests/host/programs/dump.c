/* dump.c: prints everything that a process inherits and that a runner could change.
 *
 * Two runs print the same when nothing was changed; what differs by nature (process ids, usage) is left out.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_strings(const char *what, char **strings)
{
	for (; *strings; strings++)
		printf("%s [%s]\n", what, *strings);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Standard output and error go elsewhere in every run; of the others the file counts. */
static void print_fd(int fd)
{
	struct stat status;
	char link[64];
	char target[512] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd != STDOUT_FILENO && fd != STDERR_FILENO && readlink(link, target, sizeof(target) - 1) < 0)
		return;
	if (fstat(fd, &status) < 0)
		return;
	printf("fd %d type=%o flags=%x cloexec=%d offset=%ld %s\n", fd, status.st_mode & S_IFMT,
	        fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), fd > 2 ? (long)lseek(fd, 0, SEEK_CUR) : -1L, target);
}

static void print_fds(void)
{
	static int fds[65536];
	size_t n_fds = 0;
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (!directory)
		abort();
	while ((entry = readdir(directory)) && n_fds < sizeof(fds) / sizeof(fds[0]))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory))
			fds[n_fds++] = atoi(entry->d_name);
	closedir(directory);
	qsort(fds, n_fds, sizeof(fds[0]), compare);
	for (size_t i = 0; i < n_fds; i++)
		print_fd(fds[i]);
}

static void print_limits(void)
{
	struct rlimit limit;

	for (int i = 0; i < (int)RLIM_NLIMITS; i++)
		if (getrlimit(i, &limit) == 0)
			printf("limit %d %lx %lx\n", i, (unsigned long)limit.rlim_cur,
			        (unsigned long)limit.rlim_max);
}

/* Signals, users and capabilities, as the kernel has them. */
static void print_status(void)
{
	static const char *const wanted[] = {"Umask:", "Uid:", "Gid:", "Groups:", "SigPnd:", "ShdPnd:",
	        "SigBlk:", "SigIgn:", "SigCgt:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:",
	        "NoNewPrivs:", "Seccomp:", "Cpus_allowed:", "Threads:", "TracerPid:"};
	FILE *file = fopen("/proc/self/status", "re");
	char line[4096];

	if (!file)
		abort();
	while (fgets(line, sizeof(line), file))
		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i])))
				printf("status %s", line);
	fclose(file);
}

static void print_rest(void)
{
	char directory[4096];
	int death_signal = -1;

	if (!getcwd(directory, sizeof(directory)))
		strcpy(directory, "?");
	prctl(PR_GET_PDEATHSIG, &death_signal);
	printf("cwd %s\n", directory);
	printf("nice %d scheduler %d death signal %d dumpable %d securebits %x subreaper-free\n",
	        getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), death_signal, prctl(PR_GET_DUMPABLE),
	        (unsigned)prctl(PR_GET_SECUREBITS));
	printf("session %d group %d\n", (int)getsid(0), (int)getpgrp());
}

int main(int argc, char **argv)
{
	print_fds();
	printf("argc %d\n", argc);
	print_strings("argument", argv + 1);
	print_strings("variable", environ);
	print_limits();
	print_status();
	print_rest();
	return 0;
}
