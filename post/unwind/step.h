/* step.h: from one frame to its caller. */
#ifndef POST_UNWIND_STEP_H
#define POST_UNWIND_STEP_H

#include "unwind/arch.h"
#include "unwind/registers.h"
#include "unwind/rule.h"

enum step_state {
	STEP_DONE = 0,        /* the registers are the caller's */
	STEP_BASE = 1,        /* there is no caller: this is the first frame */
	STEP_UNREADABLE = 2,  /* wanted memory outside the copy, or a register that is lost */
	STEP_BAD_RULE = 3,    /* an expression could not be evaluated */
	STEP_NO_PROGRESS = 4, /* the caller's stack pointer would not lie above */
	STEP_OTHER_STACK = 5, /* the registers are those of a frame interrupted on another stack, below */
};

/* Applies a rule. *registers changes only on STEP_DONE and STEP_OTHER_STACK; a register that cannot be had is
 * lost, and only the stack pointer and the return address are missed. */
enum step_state step_by_rule(const struct unwind_arch *arch, const struct rule *rule,
        const struct unwind_memory *memory, struct unwind_registers *registers);

/* The step out of a function that has not done anything yet: the return address is where the call put it.
 * Only right where the PC is at a function's first instructions. */
enum step_state step_at_entry(const struct unwind_arch *arch, const struct unwind_memory *memory,
        struct unwind_registers *registers);

/* The step by the frame record that the frame pointer points to: the caller's frame pointer, then the return
 * address. Refuses a record that lies below the stack pointer. */
enum step_state step_by_frame_pointer(const struct unwind_arch *arch, const struct unwind_memory *memory,
        struct unwind_registers *registers);

#endif
