/* cleanup.h: scope-bound release of what a function owns. */
#ifndef RUNNER_UTIL_CLEANUP_H
#define RUNNER_UTIL_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *slot)
{
	free(*(void **)slot);
}

/* Closes *fd unless it is negative, and leaves errno alone. */
static inline void cleanup_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void cleanup_closedir(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

#define CLEANUP(function) __attribute__((cleanup(function)))
#define CLEANUP_FREE      CLEANUP(cleanup_free)
#define CLEANUP_CLOSE     CLEANUP(cleanup_close)
#define CLEANUP_CLOSEDIR  CLEANUP(cleanup_closedir)

/* Moves a descriptor out of its variable, so that the cleanup finds nothing to do. */
static inline int steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

/* The same for a pointer. */
#define STEAL_PTR(p)                                                                                         \
	({                                                                                                   \
		__typeof__(p) stolen = (p);                                                                  \
		(p) = NULL;                                                                                  \
		stolen;                                                                                      \
	})

#define N_ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

#endif
