/* machine.c: processes and code of the machine, as a test sees them. */
#include "support/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "support/memory.h"
#include "util/cleanup.h"

#define N_PIDS 8192

struct process {
	pid_t pid;
	pid_t parent;
	char state;
	bool below; /* a descendant of this process */
};

static bool read_process(pid_t pid, struct process *ret_process)
{
	CLEANUP_FREE char *path = test_text("/proc/%d/stat", pid);
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[1024], *after;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	int parent;
	char state;

	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The name is in brackets and may hold anything, brackets too. */
	after = strrchr(text, ')');
	if (!after || sscanf(after + 1, " %c %d", &state, &parent) != 2)
		return false;
	*ret_process = (struct process){.pid = pid, .parent = parent, .state = state};
	return true;
}

static size_t read_processes(struct process *processes)
{
	CLEANUP_CLOSEDIR DIR *listing = opendir("/proc");
	size_t n = 0;

	for (struct dirent *entry; listing && n < N_PIDS && (entry = readdir(listing));) {
		pid_t pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0 && read_process(pid, &processes[n]))
			n++;
	}
	return n;
}

static bool is_below(const struct process *processes, size_t n, pid_t parent)
{
	if (parent == getpid())
		return true;
	for (size_t i = 0; i < n; i++)
		if (processes[i].pid == parent)
			return processes[i].below;
	return false;
}

void machine_each_descendant(void (*visit)(void *context, pid_t pid, char state), void *context)
{
	CLEANUP_FREE struct process *processes = test_alloc(N_PIDS, sizeof(*processes));
	size_t n = read_processes(processes);
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < n; i++) {
			if (processes[i].below || !is_below(processes, n, processes[i].parent))
				continue;
			processes[i].below = true;
			changed = true;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (processes[i].below)
			visit(context, processes[i].pid, processes[i].state);
}

bool machine_is_descendant(pid_t pid)
{
	struct process process;

	while (pid > 1 && pid != getpid()) {
		if (!read_process(pid, &process))
			return false;
		pid = process.parent;
	}
	return pid == getpid();
}

struct tally {
	size_t n_stopped;
	size_t n_alive;
};

static void count_one(void *context, pid_t pid, char state)
{
	struct tally *tally = context;

	(void)pid;
	tally->n_stopped += state == 'T';
	tally->n_alive += state != 'Z' && state != 'X';
}

size_t machine_n_stopped(void)
{
	struct tally tally = {0};

	machine_each_descendant(count_one, &tally);
	return tally.n_stopped;
}

size_t machine_n_descendants(void)
{
	struct tally tally = {0};

	machine_each_descendant(count_one, &tally);
	return tally.n_alive;
}

static void end_one(void *context, pid_t pid, char state)
{
	(void)context;
	(void)state;
	kill(pid, SIGKILL);
}

void machine_end_descendants(void)
{
	for (int i = 0; i < 20 && machine_n_descendants() > 0; i++) {
		machine_each_descendant(end_one, NULL);
		usleep(20000);
	}
}

size_t machine_wait_for_none(unsigned seconds)
{
	struct timespec start, now;
	size_t n;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (;;) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		n = machine_n_descendants();
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (n == 0 || now.tv_sec - start.tv_sec > (time_t)seconds)
			return n;
		usleep(10000);
	}
}

/* Compares one executable mapping with its file: differing bytes, or -1 when it cannot be read. */
static int count_differences(pid_t pid, uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
	CLEANUP_FREE char *memory_path = test_text("/proc/%d/mem", pid);
	CLEANUP_CLOSE int memory = open(memory_path, O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE uint8_t *left = test_alloc(end - start, 1);
	CLEANUP_FREE uint8_t *right = test_alloc(end - start, 1);
	ssize_t n_file = file < 0 ? -1 : pread(file, right, end - start, offset);
	int n = 0;

	if (n_file <= 0 || memory < 0 || pread(memory, left, n_file, start) != n_file)
		return -1;
	for (ssize_t i = 0; i < n_file; i++)
		n += left[i] != right[i];
	return n;
}

int machine_n_breakpoints(pid_t pid, const char *name)
{
	CLEANUP_FREE char *maps_path = test_text("/proc/%d/maps", pid);
	CLEANUP_FCLOSE FILE *maps = fopen(maps_path, "re");
	uint64_t start, end, offset;
	char line[4352], path[4096], rights[5];
	int n = -1;

	while (maps && fgets(line, sizeof(line), maps)) {
		int n_here;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4095s", &start, &end,
		            rights, &offset, path) != 5)
			continue;
		if (rights[2] != 'x' || !strstr(path, name))
			continue;
		n_here = count_differences(pid, start, end, offset, path);
		if (n_here < 0)
			return -1;
		n = (n < 0 ? 0 : n) + n_here;
	}
	return n;
}
