/* calls.c: reading call logs. */
#include "support/calls.h"

#include <errno.h>
#include <stdlib.h>

#include "support/memory.h"

int calls_init(struct calls *calls, size_t capacity)
{
	const char *folder = getenv("TMPDIR");
	size_t size = sizeof(struct call_log) + capacity * sizeof(struct call_record);
	char *path = test_text("%s/memstacks-calls.XXXXXX", folder ? folder : "/tmp");
	int fd = mkostemp(path, O_CLOEXEC), result = 0;
	void *memory = MAP_FAILED;

	/* Programs that run as another user append too. */
	if (fd < 0 || ftruncate(fd, size) != 0 || fchmod(fd, 0666) != 0)
		result = -errno;
	if (result == 0) {
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (memory == MAP_FAILED)
			result = -errno;
	}
	if (fd >= 0)
		close(fd);
	if (result < 0) {
		free(path);
		return result;
	}
	*calls = (struct calls){.path = path, .log = memory, .n_mapped = size};
	calls->log->capacity = capacity;
	return 0;
}

void calls_deinit(struct calls *calls)
{
	if (calls->log)
		munmap(calls->log, calls->n_mapped);
	if (calls->path)
		unlink(calls->path);
	free(calls->path);
	*calls = (struct calls){0};
}

size_t calls_n_records(const struct calls *calls)
{
	uint64_t n = __atomic_load_n(&calls->log->n_records, __ATOMIC_ACQUIRE);

	return n < calls->log->capacity ? n : calls->log->capacity;
}

int calls_overflowed(const struct calls *calls)
{
	return __atomic_load_n(&calls->log->n_records, __ATOMIC_ACQUIRE) > calls->log->capacity;
}

size_t calls_count(const struct calls *calls, enum call_kind kind)
{
	size_t n = calls_n_records(calls), n_found = 0;

	for (size_t i = 0; i < n; i++)
		n_found += calls->log->records[i].kind == (uint32_t)kind;
	return n_found;
}

static int to_event(const struct call_record *record, struct heap_event *ret_event)
{
	struct heap_event event = {.pid = record->pid,
	        .tid = record->tid,
	        .site = record->site,
	        .size = record->size,
	        .addr = record->addr};

	switch (record->kind) {
	case CALL_MALLOC:
		event.type = EVENT_MALLOC;
		break;
	case CALL_CALLOC:
		event.type = EVENT_CALLOC;
		break;
	case CALL_ALIGNED:
		event.type = EVENT_ALIGNED_ALLOC;
		break;
	case CALL_REALLOC:
		event.type = EVENT_REALLOC;
		event.old_addr = record->old_addr;
		if (record->addr == 0 && record->size == 0) {
			event = (struct heap_event){.pid = record->pid,
			        .tid = record->tid,
			        .type = EVENT_FREE,
			        .addr = record->old_addr};
		}
		break;
	case CALL_FREE:
		event.type = EVENT_FREE;
		break;
	default:
		return 0;
	}
	if (event.addr == 0)
		return 0;
	*ret_event = event;
	return 1;
}

struct heap_event *calls_events(const struct calls *calls, size_t *ret_n_events)
{
	size_t n = calls_n_records(calls), n_events = 0;
	struct heap_event *events = test_alloc(n, sizeof(*events));

	for (size_t i = 0; i < n; i++) {
		if (!to_event(&calls->log->records[i], &events[n_events]))
			continue;
		events[n_events++].timestamp = i;
	}
	*ret_n_events = n_events;
	return events;
}
