/* call_log.h: a log of allocator calls in a shared file, written without allocating anything.
 *
 * The reader makes the file (call_log_create) and gives its path in an environment variable; any number of
 * processes and threads append, from any context (also from signal handlers and between vfork and exec).
 * Header only, so that fixtures for any C library, static or not, and preloaded libraries can use it.
 */
#ifndef TESTS_SUPPORT_CALL_LOG_H
#define TESTS_SUPPORT_CALL_LOG_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The variable that fixtures look at, and the one of the preloaded counter. */
#define CALL_LOG_FIXTURE_ENV "MEMSTACKS_CALL_LOG"
#define CALL_LOG_COUNTER_ENV "MEMSTACKS_COUNT_LOG"

enum call_kind {
	CALL_NONE, /* the slot was taken and never filled: its thread was killed between the two */
	CALL_MALLOC,
	CALL_CALLOC,
	CALL_ALIGNED,
	CALL_REALLOC,
	CALL_FREE,
	CALL_FORK, /* addr: the child's pid; size: 1 when it shares the memory */
	CALL_EXEC, /* about to exec */
	CALL_DONE, /* the program reached its end */
};

/* One call and its result, also of a call that failed (addr 0). */
struct call_record {
	uint32_t pid;
	uint32_t tid;
	uint32_t kind;
	uint32_t site;     /* which call path of the program made it; 0 where the program does not tell */
	uint64_t size;     /* bytes asked for; count * size of calloc, saturated */
	uint64_t old_addr; /* realloc */
	uint64_t addr;     /* result; of a free: its argument */
};

struct call_log {
	uint64_t capacity;  /* records */
	uint64_t n_records; /* slots taken, may exceed the capacity */
	struct call_record records[];
};

/* NULL when the variable is not set or its file cannot be mapped. */
static inline struct call_log *call_log_open(const char *path)
{
	struct stat status;
	void *memory = MAP_FAILED;
	int fd;

	if (!path)
		return NULL;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && (size_t)status.st_size > sizeof(struct call_log))
		memory = mmap(NULL, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : (struct call_log *)memory;
}

static inline void call_log_add(struct call_log *log, enum call_kind kind, uint32_t site, uint64_t size,
        const void *old_addr, const void *addr)
{
	struct call_record *record;
	uint64_t slot;

	if (!log)
		return;
	slot = __atomic_fetch_add(&log->n_records, 1, __ATOMIC_RELAXED);
	if (slot >= log->capacity)
		return;
	record = &log->records[slot];
	record->pid = syscall(SYS_getpid);
	record->tid = syscall(SYS_gettid);
	record->site = site;
	record->size = size;
	record->old_addr = (uintptr_t)old_addr;
	record->addr = (uintptr_t)addr;
	__atomic_store_n(&record->kind, kind, __ATOMIC_RELEASE);
}

#endif
