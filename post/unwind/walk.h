/* walk.h: from a stack definition to the code addresses of its frames. */
#ifndef POST_UNWIND_WALK_H
#define POST_UNWIND_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "artifact/event.h"
#include "unwind/arch.h"
#include "unwind/module_rules.h"

/* What is at a code address. */
struct walk_place {
	void *module;               /* the caller's own; NULL: code outside any file, or nothing known */
	struct module_rules *rules; /* NULL where the module has none */
	const struct rule *rule;    /* of code outside any file, where its shape is known; or NULL */
	uint64_t bias;              /* AVMA - SVMA; 0 where module is NULL */
	bool known_code;            /* in a module, or code generated at run time that has a name */
};

/* The world as it was when the stack was taken. */
struct walk_world {
	const struct unwind_arch *arch;
	/* Says what is at `address`. */
	struct walk_place (*find)(void *context, uint64_t address);
	/* Whether the code at `svma` of `module`, which called that at `callee_svma` of `callee_module`
	 * (NULL: the frame is the innermost), is the first that ran on its stack, by names: only asked where
	 * no rule says so. */
	bool (*is_outermost)(
	        void *context, void *module, uint64_t svma, void *callee_module, uint64_t callee_svma);
	void *context;
	size_t max_depth;
};

/* How a walk ended. */
enum walk_end {
	WALK_BASE,
	WALK_TRUNCATED,
	WALK_NO_MODULE,
	WALK_NO_RULE,
	WALK_UNREADABLE,
	WALK_NO_PROGRESS,
	WALK_DEPTH,
	WALK_BAD_RULE,
};

struct walk_frame {
	uint64_t address; /* looked up: PC - 1 for callers; PC for the innermost, interrupted, and signal
	                     frames */
	uint64_t svma;    /* address - bias */
	void *module;
};

/* The frames of one walk, innermost first. Reused from walk to walk: starts as all zero. */
struct walk {
	struct walk_frame *frames;
	size_t n_frames;
	size_t n_allocated;
	enum walk_end end;
	bool stitched; /* frames that come from frame pointers and not from rules */
};

/* Walks `stack`. 0 or -ENOMEM. */
int walk_stack(const struct walk_world *world, const struct event_stack *stack, struct walk *walk);

void walk_deinit(struct walk *walk);

#endif
