/* event.c: names of event types. */
#include "artifact/event.h"

#include "util/cleanup.h"

static const char *const names[] = {
        [EVENT_MALLOC] = "Malloc",
        [EVENT_CALLOC] = "Calloc",
        [EVENT_ALIGNED_ALLOC] = "AlignedAlloc",
        [EVENT_REALLOC] = "Realloc",
        [EVENT_FREE] = "Free",
        [EVENT_MMAP] = "Mmap",
        [EVENT_MUNMAP] = "Munmap",
        [EVENT_BRK] = "Brk",
        [EVENT_FORK] = "Fork",
        [EVENT_EXEC] = "Exec",
        [EVENT_EXIT] = "Exit",
        [EVENT_MAPPING] = "Mapping",
        [EVENT_STACK_DEFINITION] = "StackDefinition",
};

_Static_assert(N_ELEMENTS(names) == EVENT_N_TYPES, "a name for every type");

const char *event_type_name(enum event_type type)
{
	return (unsigned)type < N_ELEMENTS(names) ? names[type] : "?";
}
