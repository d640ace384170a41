/* cfi_check.c: whether call frame instructions are safe to interpret. */
#include "unwind/cfi_check.h"

#include <dwarf.h>

#include "unwind/scan.h"

/* Nested DW_CFA_remember_state: compilers use one level. */
#define MAX_REMEMBERED 32

/* Operands: r a register, l any LEB128, b a block, p a code address, digits fixed bytes. NULL: unknown. */
static const char *operands_of(uint8_t opcode)
{
	switch (opcode) {
	case DW_CFA_nop:
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
	case DW_CFA_GNU_window_save: /* and DW_CFA_AARCH64_negate_ra_state */
		return "";
	case DW_CFA_set_loc:
		return "p";
	case DW_CFA_advance_loc1:
		return "1";
	case DW_CFA_advance_loc2:
		return "2";
	case DW_CFA_advance_loc4:
		return "4";
	case DW_CFA_MIPS_advance_loc8:
		return "8";
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_def_cfa_register:
		return "r";
	case DW_CFA_register:
		return "rr";
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_GNU_negative_offset_extended:
		return "rl";
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_GNU_args_size:
		return "l";
	case DW_CFA_def_cfa_expression:
		return "b";
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		return "rb";
	default:
		return NULL;
	}
}

static bool check_operand(struct scan *scan, char operand, unsigned pointer_size)
{
	uint64_t value;

	switch (operand) {
	case 'r':
		return scan_uleb128(scan) <= CFI_MAX_REGISTER;
	case 'l':
		scan_skip_leb128(scan);
		return true;
	case 'b':
		value = scan_uleb128(scan);
		scan_skip(scan, value);
		return value <= CFI_MAX_EXPRESSION;
	case 'p':
		scan_skip(scan, pointer_size);
		return true;
	default:
		scan_skip(scan, (uint64_t)(operand - '0'));
		return true;
	}
}

bool cfi_check(const uint8_t *start, const uint8_t *end, unsigned pointer_size)
{
	struct scan scan = scan_over(start, end);
	unsigned n_remembered = 0;

	while (scan_left(&scan) > 0) {
		uint8_t opcode = (uint8_t)scan_unsigned(&scan, 1);
		const char *operands;

		/* The three with an operand in their low bits; DW_CFA_offset has another one. */
		if (opcode >= DW_CFA_advance_loc) {
			if ((opcode & 0xc0) == DW_CFA_offset)
				scan_skip_leb128(&scan);
			continue;
		}
		operands = operands_of(opcode);
		if (!operands)
			return false;
		if (opcode == DW_CFA_remember_state && ++n_remembered > MAX_REMEMBERED)
			return false;
		if (opcode == DW_CFA_restore_state && n_remembered-- == 0)
			return false;
		for (; *operands; operands++) {
			if (!check_operand(&scan, *operands, pointer_size))
				return false;
		}
	}
	return !scan.failed;
}
