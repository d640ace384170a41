/* cfi_check.h: whether call frame instructions are safe to interpret.
 *
 * libdw sizes its tables by the register numbers it meets and copies them at every DW_CFA_remember_state, so
 * a few bytes of a damaged file would make it allocate gigabytes. Instructions are looked through before it
 * sees them. Opcodes and operands: DWARF 5, section 6.4.2; the vendor ones: the LSB and the AArch64 ABI.
 */
#ifndef POST_UNWIND_CFI_CHECK_H
#define POST_UNWIND_CFI_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Registers beyond this one belong to no architecture known here. */
#define CFI_MAX_REGISTER 255

/* A DWARF expression of a rule, in bytes. */
#define CFI_MAX_EXPRESSION 1024

/* True where every instruction from `start` to `end` is known, whole, and within the limits.
 * `pointer_size` is the size of DW_CFA_set_loc's operand. */
bool cfi_check(const uint8_t *start, const uint8_t *end, unsigned pointer_size);

#endif
