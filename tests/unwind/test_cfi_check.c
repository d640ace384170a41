/* Proves that real instructions pass and harmful ones do not. */
#include "unwind/cfi_check.h"

#include <criterion/criterion.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

#define EXPECT(expectation, ...)                                                                             \
	do {                                                                                                 \
		const uint8_t program[] = {__VA_ARGS__};                                                     \
		bool safe = check(program, sizeof(program));                                                 \
                                                                                                             \
		cr_expect_eq(safe, expectation, #__VA_ARGS__);                                               \
	} while (0)
#define ACCEPTS(...) EXPECT(true, __VA_ARGS__)
#define REFUSES(...) EXPECT(false, __VA_ARGS__)

/* From the heap, so that a read beyond the end is found. */
static bool check(const uint8_t *program, size_t n)
{
	CLEANUP_FREE uint8_t *copy = calloc(n ? n : 1, 1);

	if (n > 0)
		memcpy(copy, program, n);
	return cfi_check(copy, copy + n, 4);
}

Test(cfi_check, accepts)
{
	cr_expect(check(NULL, 0));
	ACCEPTS(DW_CFA_nop);
	ACCEPTS(DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1);
	ACCEPTS(DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc1, 1,
	        DW_CFA_restore | 3);
	ACCEPTS(DW_CFA_advance_loc2, 1, 2, DW_CFA_advance_loc4, 1, 2, 3, 4, DW_CFA_set_loc, 1, 2, 3, 4);
	ACCEPTS(DW_CFA_remember_state, DW_CFA_restore_state);
	ACCEPTS(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref);
	ACCEPTS(DW_CFA_expression, 6, 2, 0x76, 0, DW_CFA_val_expression, 7, 1, DW_OP_lit0);
	ACCEPTS(DW_CFA_offset_extended, 0xff, 1, 0xff, 0xff, 0x7f, DW_CFA_GNU_args_size, 0x80, 0);
	ACCEPTS(DW_CFA_GNU_window_save);
}

Test(cfi_check, refuses)
{
	REFUSES(DW_CFA_undefined, 0x80, 2); /* register 256 */
	REFUSES(DW_CFA_register, 1, 0xff, 0xff, 0xff, 0xff, 7);
	REFUSES(DW_CFA_restore_state);
	REFUSES(DW_CFA_def_cfa, 7);
	REFUSES(DW_CFA_offset | 3);
	REFUSES(DW_CFA_offset | 3, 0x80);
	REFUSES(DW_CFA_advance_loc4, 1, 2, 3);
	REFUSES(DW_CFA_def_cfa_expression, 3, DW_OP_lit0, DW_OP_lit0);
	REFUSES(DW_CFA_val_expression, 3, 0xff, 0xff, 0xff, 0xff, 0x0f);
	REFUSES(DW_CFA_set_loc, 1, 2, 3);
	REFUSES(0x17);
	REFUSES(0x3f);
}

/* Each remembered state is a copy of all rules. */
Test(cfi_check, remembered_states_are_bounded)
{
	uint8_t program[100];

	memset(program, DW_CFA_remember_state, sizeof(program));
	cr_expect(check(program, 32));
	cr_expect_not(check(program, 33));
	for (size_t i = 1; i < sizeof(program); i += 2)
		program[i] = DW_CFA_restore_state;
	cr_expect(check(program, sizeof(program)));
}

Test(cfi_check, expressions_are_bounded)
{
	uint8_t program[2000] = {DW_CFA_def_cfa_expression, 0x80, 0x08};

	cr_expect(check(program, 3 + 1024));
	program[1] = 0x81;
	cr_expect_not(check(program, 3 + 1025));
}
