/* trampoline.c: leaving code that was generated at run time, whose shape is known by its name.
 *
 * CPython since 3.12 has, where it names its functions to perf, a copy of a few instructions for each of them
 * (Python/asm_trampoline.S), and keeps no frame record there. On x86-64 they are 11 bytes:
 *
 *     48 83 ec 08    sub  $8, %rsp
 *     ff d1          call *%rcx
 *     48 83 c4 08    add  $8, %rsp
 *     c3             ret
 *
 * Versions that do keep a frame record have another length, and need no rule.
 */
#include "resolve/trampoline.h"

#include <elf.h>
#include <string.h>

#define PYTHON_PREFIX    "py::"
#define PYTHON_SIZE      11
#define PYTHON_CALL_LAST 5 /* the offset of the last byte of the call */

/* DWARF numbers of x86-64 */
#define RSP 7
#define RIP 16

/* Two words above: the one that `sub` made room for, and the return address. */
static const struct rule python_rule = {
        .cfa = {.kind = RULE_IS_REGISTER, .reg = RSP, .offset = 16},
        .return_address = RIP,
        .n_registers = 1,
        .registers = {{.reg = RIP, .value = {.kind = RULE_AT_CFA, .offset = -8}}},
};

const struct rule *trampoline_rule(
        const struct unwind_arch *arch, const struct symbol *symbol, uint64_t address)
{
	if (arch->elf_machine != EM_X86_64 || symbol->size != PYTHON_SIZE ||
	        address - symbol->addr != PYTHON_CALL_LAST ||
	        strncmp(symbol->name, PYTHON_PREFIX, strlen(PYTHON_PREFIX)) != 0)
		return NULL;
	return &python_rule;
}
