/* event.c: names of event types. */
#include "artifact/event.h"

#include "artifact/names.h"
#include "util/cleanup.h"

#define NAME(text)                                                                                           \
	{                                                                                                    \
		sizeof(text) - 1, text                                                                       \
	}

const struct event_name event_names[EVENT_N_TYPES] = {
        [EVENT_MALLOC] = NAME("Malloc"),
        [EVENT_CALLOC] = NAME("Calloc"),
        [EVENT_ALIGNED_ALLOC] = NAME("AlignedAlloc"),
        [EVENT_REALLOC] = NAME("Realloc"),
        [EVENT_FREE] = NAME("Free"),
        [EVENT_MMAP] = NAME("Mmap"),
        [EVENT_MUNMAP] = NAME("Munmap"),
        [EVENT_BRK] = NAME("Brk"),
        [EVENT_FORK] = NAME("Fork"),
        [EVENT_EXEC] = NAME("Exec"),
        [EVENT_EXIT] = NAME("Exit"),
        [EVENT_MAPPING] = NAME("Mapping"),
        [EVENT_STACK_DEFINITION] = NAME("StackDefinition"),
};

const char *event_type_name(enum event_type type)
{
	return (unsigned)type < N_ELEMENTS(event_names) ? event_names[type].text : "?";
}
