/* arch.c: the architectures that can be unwound. */
#include "unwind/arch.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "artifact/event.h"
#include "util/cleanup.h"

/* Register numbers: System V ABI for x86-64, table 3.36; DWARF for the Arm 64-bit Architecture, section 4.1.
 * Pointer authentication codes lie above bit 47 (or 51, with large addresses, which no kernel gives unasked).
 */
static const struct unwind_arch arches[] = {
        {
                .name = "x86_64",
                .elf_machine = EM_X86_64,
                .n_registers = 17,
                .sp = EVENT_REG_X86_RSP,
                .pc = EVENT_REG_X86_RIP,
                .fp = 6,
                .link = EVENT_REG_X86_RIP,
                .callee_saved = UINT64_C(1) << 3 | UINT64_C(1) << 6 | UINT64_C(0xf) << 12,
                .address_mask = UINT64_MAX,
        },
        {
                .name = "aarch64",
                .elf_machine = EM_AARCH64,
                .n_registers = 33,
                .sp = EVENT_REG_ARM64_SP,
                .pc = EVENT_REG_ARM64_PC,
                .fp = 29,
                .link = 30,
                .callee_saved = UINT64_C(0x7ff) << 19,
                .address_mask = (UINT64_C(1) << 48) - 1,
        },
};

const struct unwind_arch *unwind_arch_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(arches); i++) {
		if (strcmp(arches[i].name, name) == 0)
			return &arches[i];
	}
	return NULL;
}
