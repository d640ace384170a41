/* trampoline.h: leaving code that was generated at run time, whose shape is known by its name. */
#ifndef POST_RESOLVE_TRAMPOLINE_H
#define POST_RESOLVE_TRAMPOLINE_H

#include <stdint.h>

#include "module/symbols.h"
#include "unwind/arch.h"
#include "unwind/rule.h"

/* The rule at `address` (one byte before a return address) of what a perf-<pid>.map calls `symbol`, or NULL.
 */
const struct rule *trampoline_rule(
        const struct unwind_arch *arch, const struct symbol *symbol, uint64_t address);

#endif
