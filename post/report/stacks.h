/* stacks.h: the distinct call stacks of a profile, and the call paths they belong to.
 *
 * A frame is a place in the code; a *key* is what a person calls it: function and module, without line and
 * address. Stacks with the same keys are one call path.
 */
#ifndef POST_REPORT_STACKS_H
#define POST_REPORT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/string_pool.h"
#include "resolve/resolver.h"

struct stacks;

#define STACKS_NONE UINT32_MAX

/* Strings are numbers in the `strings` given to stacks_new. */
struct stack_frame {
	uint32_t key;
	uint32_t symbol; /* as in the file, mangled */
	uint32_t file;
	uint32_t line; /* 0: unknown */
	uint32_t build_id;
	bool inlined; /* into the next frame */
	bool named;   /* false: the key's name was made from module and offset */
	bool made_up; /* stands for something that is not a function: a fold, a missing rest */
	uint64_t svma;
};

struct stack_key {
	uint32_t name; /* for people; never empty */
	uint32_t module;
};

struct stack_row {
	size_t first; /* see stacks_frames */
	uint32_t n_frames;
	uint32_t path;
	uint32_t sibling; /* another stack of the same path; STACKS_NONE: the last */
	enum stack_end end;
	bool stitched;
	bool resolved; /* false: there was no definition to resolve */
	uint32_t stopped_module;
	uint64_t stopped_at; /* of the first such stack */
};

struct stack_path {
	uint32_t stack;  /* its first stack; all have as many frames and the same keys */
	uint32_t latest; /* where the chain of `sibling` begins */
	uint32_t n_stacks;
};

/* `strings` is borrowed. With `fold`, each run of frames in ranges that a report may fold away becomes one
 * frame named after its module. 0 or -ENOMEM. */
int stacks_new(struct string_pool *strings, bool fold, struct stacks **ret_stacks);

/* Adds a stack, or finds it. A stack that does not reach the first frame gets an outermost frame that says
 * why. 0, -ENOMEM or -E2BIG. */
int stacks_add(struct stacks *stacks, const struct resolved_stack *resolved, uint32_t *ret_stack);

/* Adds or finds the stack that consists of one frame with this text instead of a function. */
int stacks_add_made_up(struct stacks *stacks, const char *text, uint32_t *ret_stack);

size_t stacks_count(const struct stacks *stacks);
size_t stacks_n_paths(const struct stacks *stacks);
size_t stacks_n_frames(const struct stacks *stacks);
size_t stacks_n_keys(const struct stacks *stacks);
const struct stack_row *stacks_row(const struct stacks *stacks, uint32_t stack);
const struct stack_path *stacks_path(const struct stacks *stacks, uint32_t path);
const struct stack_frame *stacks_frame(const struct stacks *stacks, uint32_t frame);
const struct stack_key *stacks_key(const struct stacks *stacks, uint32_t key);

/* The frame numbers of a stack, innermost first. */
const uint32_t *stacks_frames(const struct stacks *stacks, uint32_t stack);

/* The text of a key's name, and of its module: "" where there is none. */
const char *stacks_name(const struct stacks *stacks, uint32_t key);
const char *stacks_module(const struct stacks *stacks, uint32_t key);

/* NULL-safe; returns NULL. */
struct stacks *stacks_free(struct stacks *stacks);

#endif
