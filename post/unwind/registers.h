/* registers.h: what a walk knows at one frame: registers, and the copied part of the stack. */
#ifndef POST_UNWIND_REGISTERS_H
#define POST_UNWIND_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/scan.h"
#include "unwind/rule.h"

/* By DWARF number. `known` has a bit for each register whose value is not lost. */
struct unwind_registers {
	uint64_t values[RULE_MAX_REGISTERS];
	uint64_t known;
};

/* Stack bytes: bytes[0] is at address `start`. Borrowed. */
struct unwind_memory {
	uint64_t start;
	const uint8_t *bytes;
	size_t n_bytes;
};

static inline bool unwind_register_get(
        const struct unwind_registers *registers, unsigned reg, uint64_t *ret_value)
{
	if (reg >= RULE_MAX_REGISTERS || !(registers->known & (UINT64_C(1) << reg)))
		return false;
	*ret_value = registers->values[reg];
	return true;
}

static inline void unwind_register_set(struct unwind_registers *registers, unsigned reg, uint64_t value)
{
	registers->values[reg] = value;
	registers->known |= UINT64_C(1) << reg;
}

static inline void unwind_register_lose(struct unwind_registers *registers, unsigned reg)
{
	registers->known &= ~(UINT64_C(1) << reg);
}

/* Reads an integer of n_bytes (at most 8); false where it is not wholly inside the copy. */
static inline bool unwind_memory_read(
        const struct unwind_memory *memory, uint64_t address, unsigned n_bytes, uint64_t *ret_value)
{
	uint64_t offset = address - memory->start;
	struct scan scan;

	if (address < memory->start || offset > memory->n_bytes || memory->n_bytes - offset < n_bytes)
		return false;
	scan = scan_over(memory->bytes + offset, memory->bytes + memory->n_bytes);
	*ret_value = scan_unsigned(&scan, n_bytes);
	return true;
}

#endif
