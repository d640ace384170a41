/* expression.h: evaluates the DWARF expressions of call frame information (DWARF 5, section 2.5). */
#ifndef POST_UNWIND_EXPRESSION_H
#define POST_UNWIND_EXPRESSION_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/registers.h"

enum expression_state {
	EXPRESSION_DONE = 0,
	EXPRESSION_UNREADABLE = 1, /* wanted memory outside the copy, or a register that is lost */
	EXPRESSION_BAD = 2,        /* unknown operation, empty or full stack, division by 0, or no end */
};

/* `cfa` is what DW_OP_call_frame_cfa pushes. Steps and stack are bounded, whatever the operations are. */
enum expression_state expression_evaluate(const Dwarf_Op *ops, size_t n_ops,
        const struct unwind_registers *registers, const struct unwind_memory *memory, uint64_t cfa,
        uint64_t *ret_value);

#endif
