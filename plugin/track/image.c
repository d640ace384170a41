/* image.c: reading /proc/<pid>/maps (proc_pid_maps(5)). */
#include "track/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>

#include "util/cleanup.h"

struct line {
	uint64_t start, end, file_offset;
	unsigned major, minor;
	uint64_t ino;
	char permissions[8];
	char path[4096];
};

static bool parse_line(const char *text, struct line *line)
{
	int n = 0;

	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &line->start, &line->end,
		    line->permissions, &line->file_offset, &line->major, &line->minor, &line->ino, &n) < 7)
		return false;
	snprintf(line->path, sizeof(line->path), "%s", text + n);
	line->path[strcspn(line->path, "\n")] = '\0';
	path_strip_deleted(line->path);
	return true;
}

void path_strip_deleted(char *path)
{
	static const char suffix[] = " (deleted)";
	size_t n = strlen(path), n_suffix = sizeof(suffix) - 1;

	if (n > n_suffix && !strcmp(path + n - n_suffix, suffix))
		path[n - n_suffix] = '\0';
}

int open_regular_file(const char *name)
{
	CLEANUP_CLOSE int handle = -1;
	char own[64];
	struct stat st;
	int fd;

	/* Looked at first: opening something else than a file can have effects, or wait. */
	handle = open(name, O_PATH | O_CLOEXEC);
	if (handle < 0 || fstat(handle, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", handle);
	fd = open(own, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* The file behind a mapping, whatever its name leads to by now. */
static int open_mapped(uint32_t pid, const struct line *line)
{
	char name[128];

	snprintf(name, sizeof(name), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, line->start, line->end);
	return open_regular_file(name);
}

static bool is_program(uint32_t pid, int fd)
{
	struct stat own, program;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%u/exe", pid);
	return fstat(fd, &own) == 0 && stat(name, &program) == 0 && own.st_dev == program.st_dev &&
		own.st_ino == program.st_ino;
}

struct target {
	struct programs *programs;
	struct files *files;
	const struct log_sink *log;
	uint32_t pid;
	const struct executed *executed;
};

static void add_mapping(struct target *target, const struct line *line)
{
	struct mapping_request request = {
		.slot = target->executed->slot,
		.pid = target->pid,
		.addr = line->start,
		.len = line->end - line->start,
		.file_offset = line->file_offset,
	};
	struct timespec now;
	int fd = open_mapped(target->pid, line), r;

	if (fd < 0) {
		/* The numbers of the mapping itself serve as the file's name then. */
		request.dev = (uint64_t)line->major << 20 | line->minor;
		request.ino = line->ino;
		files_add_unopened(target->files, line->path, target->pid, request.dev, request.ino, fd);
	} else {
		r = programs_identify_file(target->programs, fd, &request.dev, &request.ino);
		if (r)
			log_warning(target->log, "cannot identify %s: %s", line->path, strerror(-r));
		files_add(target->files, fd, line->path, target->pid, is_program(target->pid, fd));
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	request.timestamp = (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	r = programs_add_mapping(target->programs, &request);
	if (r)
		log_warning(target->log, "cannot add the mapping of %s to process %u: %s", line->path, target->pid,
			strerror(-r));
}

void image_add(struct programs *programs, struct files *files, const struct log_sink *log, uint32_t pid,
	const struct executed *executed)
{
	struct target target = {programs, files, log, pid, executed};
	CLEANUP_FCLOSE FILE *maps = NULL;
	CLEANUP_FREE char *text = NULL;
	char name[64];
	size_t size = 0;

	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	maps = fopen(name, "re");
	if (!maps) {
		log_warning(log, "cannot read the mappings of process %u: %s", pid, strerror(errno));
		return;
	}
	while (getline(&text, &size, maps) > 0) {
		struct line line;

		if (parse_line(text, &line) && line.permissions[2] == 'x' && line.ino)
			add_mapping(&target, &line);
	}
}
