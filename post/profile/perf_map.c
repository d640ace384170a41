/* perf_map.c: symbol maps that just-in-time compilers leave. */
#include "profile/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/file.h"

#define MAP_MAX     ((uint64_t)256 << 20)
#define CHUNK_BYTES (128u << 10)

static bool is_wanted(const struct stat *status, uint32_t owner_uid, time_t since)
{
	return S_ISREG(status->st_mode) && status->st_nlink == 1 && status->st_size > 0 &&
	       (uint64_t)status->st_size <= MAP_MAX && (status->st_uid == owner_uid || status->st_uid == 0) &&
	       status->st_mtim.tv_sec >= since;
}

/* Copies what was there when it was looked at, and not what may be added meanwhile. */
static int copy(int from, int to, uint64_t n)
{
	CLEANUP_FREE char *chunk = malloc(CHUNK_BYTES);

	if (!chunk)
		return -ENOMEM;
	while (n > 0) {
		ssize_t n_read = file_read_up_to(from, chunk, n < CHUNK_BYTES ? (size_t)n : CHUNK_BYTES);
		int r;

		if (n_read <= 0)
			return (int)n_read;
		r = file_write_all(to, chunk, (size_t)n_read);
		if (r < 0)
			return r;
		n -= (uint64_t)n_read;
	}
	return 0;
}

int perf_map_copy(const struct dump_request *request, int folder_fd, uint32_t pid, time_t since)
{
	char name[32];
	CLEANUP_CLOSE int from = -1, to = -1;
	struct stat status;
	int r;

	snprintf(name, sizeof(name), "perf-%u.map", pid);
	from = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (from < 0 || fstat(from, &status) < 0 || !is_wanted(&status, request->owner_uid, since))
		return 0;
	to = file_create(request->profile_fd, name, request->owner_uid, request->owner_gid);
	if (to < 0)
		return to;
	r = copy(from, to, (uint64_t)status.st_size);
	if (r < 0) {
		unlinkat(request->profile_fd, name, 0);
		return r;
	}
	return 1;
}
