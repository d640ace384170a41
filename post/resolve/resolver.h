/* resolver.h: from a stack definition to named frames, with nothing but the profile folder. */
#ifndef POST_RESOLVE_RESOLVER_H
#define POST_RESOLVE_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "artifact/event.h"
#include "util/log.h"

struct resolver;

/* One frame, innermost first in its stack. Strings belong to the resolver, are interned (equal text = equal
 * pointer) and live as long as it. */
struct frame {
	const char *function;   /* demangled; NULL where there is no name */
	const char *symbol;     /* as in the file, mangled; NULL where there is no name */
	const char *file;       /* source file; NULL where unknown */
	uint32_t line;          /* 0 where unknown */
	bool inlined;           /* inlined into the next frame: same address */
	bool ignored;           /* in a range that a report may fold away (ignored_modules_by_pid) */
	const char *module;     /* path of the module as the process saw it; NULL: code outside any file */
	const char *build_id;   /* lower-case hex; NULL where there is none */
	uint64_t address;       /* AVMA that was looked up: PC - 1 for callers */
	uint64_t svma;          /* the same in the module's own terms; the address where module is NULL */
	uint64_t function_svma; /* where the function begins, by its symbol, else by the unwind data; svma
	                         * where neither knows: names a function without a name better than the
	                         * address of one call in it */
};

/* How the walk over a stack ended. */
enum stack_end {
	STACK_END_BASE,        /* at the first frame of the process or thread: the whole stack */
	STACK_END_TRUNCATED,   /* at the end of a copy that filled its budget */
	STACK_END_NO_MODULE,   /* at an address in no mapping of the process at that time */
	STACK_END_NO_UNWIND,   /* at code whose module has no unwind data, or no rule for it */
	STACK_END_UNREADABLE,  /* the rule wanted memory outside the copy */
	STACK_END_NO_PROGRESS, /* the stack pointer did not grow */
	STACK_END_DEPTH,       /* at the cap of frames */
	STACK_END_BAD_RULE,    /* the rule could not be evaluated */
	STACK_END_N
};

struct resolved_stack {
	struct frame *frames; /* innermost first, inlined ones expanded */
	size_t n_frames;
	enum stack_end end;
	bool stitched;              /* frames from the frame-pointer chain continue where the rules ended */
	uint64_t stopped_at;        /* address of the frame at which the walk ended */
	const char *stopped_module; /* its module or NULL */
};

/* A few words for people: "reached the first frame", … */
const char *stack_end_text(enum stack_end end);

/* Loads memory_metadata.json of the folder; symbols, unwind data and debug info follow when first needed.
 * `profile_fd` stays the caller's and is used until resolver_free. A missing or broken file of a module is a
 * warning. Negative errno where the metadata cannot be used at all (text through `log`). */
int resolver_new(int profile_fd, const struct log_sink *log, struct resolver **ret_resolver);

/* Caps the frames of a stack; default 1024. */
void resolver_set_max_depth(struct resolver *resolver, size_t max_depth);

/* Tells of an Exec or Exit of a process: placements from before `timestamp` (ns) do not hold for definitions
 * from it on. Optional, since new mappings cover old
 * ones where they overlap. 0 or -ENOMEM. */
int resolver_end_image(struct resolver *resolver, uint32_t pid, uint64_t timestamp);

/* Unwinds and names one definition (an event of type EVENT_STACK_DEFINITION: its pid and timestamp choose the
 * placements). On success the caller owns *ret_stack and ends it with resolved_stack_deinit. 0 or -ENOMEM:
 * a stack that cannot be unwound is not an error, see resolved_stack.end. */
int resolver_resolve(
        struct resolver *resolver, const struct event *definition, struct resolved_stack *ret_stack);

void resolved_stack_deinit(struct resolved_stack *stack);

/* NULL-safe; returns NULL. */
struct resolver *resolver_free(struct resolver *resolver);

#endif
