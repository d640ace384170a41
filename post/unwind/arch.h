/* arch.h: what the unwinder knows of an architecture. */
#ifndef POST_UNWIND_ARCH_H
#define POST_UNWIND_ARCH_H

#include <stdint.h>

/* Registers are numbered as in DWARF (see EVENT_N_REGS in artifact/event.h). */
struct unwind_arch {
	const char *name;     /* as in memory_metadata.json */
	uint16_t elf_machine; /* EM_… */
	unsigned n_registers; /* that a walk carries from frame to frame */
	unsigned sp;
	unsigned pc;
	unsigned fp;
	unsigned link;         /* where a call leaves the return address; == pc: on the stack */
	uint64_t callee_saved; /* a bit for each register that keeps its value unless a rule says otherwise */
	uint64_t address_mask; /* bits of a code pointer that are address, not signature */
};

/* NULL where the name is unknown. */
const struct unwind_arch *unwind_arch_find(const char *name);

#endif
