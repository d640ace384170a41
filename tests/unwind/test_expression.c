/* Proves that DWARF expressions give what the standard says, and that no sequence of operations escapes the
 * bounds. */
#include "unwind/expression.h"

#include <criterion/criterion.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

#define STACK_START 0x7000

static const uint8_t stack[32] = {0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xff};

static struct unwind_registers registers_of_test(void)
{
	struct unwind_registers registers = {0};

	for (unsigned i = 0; i < 17; i++)
		unwind_register_set(&registers, i, 0x1000 + i);
	unwind_register_set(&registers, 7, STACK_START);
	unwind_register_lose(&registers, 3);
	return registers;
}

static enum expression_state evaluate(const Dwarf_Op *ops, size_t n_ops, uint64_t *ret_value)
{
	const struct unwind_registers registers = registers_of_test();
	const struct unwind_memory memory = {.start = STACK_START, .bytes = stack, .n_bytes = sizeof(stack)};

	return expression_evaluate(ops, n_ops, &registers, &memory, 0xcfa, ret_value);
}

struct example {
	const char *what;
	uint64_t value;
	size_t n_ops;
	Dwarf_Op ops[8];
};

#define LIT(n)                                                                                               \
	{                                                                                                    \
		.atom = DW_OP_lit0 + (n)                                                                     \
	}
#define OP(op)                                                                                               \
	{                                                                                                    \
		.atom = DW_OP_##op                                                                           \
	}
#define CONST(n)                                                                                             \
	{                                                                                                    \
		.atom = DW_OP_consts, .number = (Dwarf_Word)(n)                                              \
	}

static const struct example examples[] = {
        {"lit", 31, 1, {LIT(31)}},
        {"const", (uint64_t)-5, 1, {CONST(-5)}},
        {"breg", 0x1006 - 8, 1, {{.atom = DW_OP_breg6, .number = (Dwarf_Word)-8}}},
        {"bregx", 0x1010 + 4, 1, {{.atom = DW_OP_bregx, .number = 16, .number2 = 4}}},
        {"call_frame_cfa", 0xcfa, 1, {OP(call_frame_cfa)}},
        {"dup", 6, 3, {LIT(3), OP(dup), OP(plus)}},
        {"drop", 3, 3, {LIT(3), LIT(4), OP(drop)}},
        {"over", (uint64_t)-1, 4, {LIT(3), LIT(2), OP(over), OP(minus)}},
        {"pick", 7, 4, {LIT(7), LIT(8), LIT(9), {.atom = DW_OP_pick, .number = 2}}},
        {"swap", (uint64_t)-1, 4, {LIT(4), LIT(3), OP(swap), OP(minus)}},
        {"rot brings the second to the top", 2, 4, {LIT(1), LIT(2), LIT(3), OP(rot)}},
        {"rot puts the top third", 3, 6, {LIT(1), LIT(2), LIT(3), OP(rot), OP(drop), OP(drop)}},
        {"deref", 0x1122334455667788, 2, {{.atom = DW_OP_breg7}, OP(deref)}},
        {"deref_size", 0x7788, 2, {{.atom = DW_OP_breg7}, {.atom = DW_OP_deref_size, .number = 2}}},
        {"deref_size does not extend the sign", 0xff, 2,
                {{.atom = DW_OP_breg7, .number = 8}, {.atom = DW_OP_deref_size, .number = 1}}},
        {"abs", 5, 2, {CONST(-5), OP(abs)}},
        {"neg", (uint64_t)-5, 2, {LIT(5), OP(neg)}},
        {"not", ~UINT64_C(5), 2, {LIT(5), OP(not )}},
        {"and", 4, 3, {LIT(6), LIT(12), OP(and)}},
        {"or", 14, 3, {LIT(6), LIT(12), OP(or)}},
        {"xor", 10, 3, {LIT(6), LIT(12), OP(xor)}},
        {"plus", 18, 3, {LIT(6), LIT(12), OP(plus)}},
        {"minus", (uint64_t)-6, 3, {LIT(6), LIT(12), OP(minus)}},
        {"mul", 72, 3, {LIT(6), LIT(12), OP(mul)}},
        {"div is signed", (uint64_t)-3, 3, {CONST(-7), LIT(2), OP(div)}},
        {"div that overflows", UINT64_C(1) << 63, 3, {CONST(INT64_MIN), CONST(-1), OP(div)}},
        {"mod is unsigned", 5, 3, {CONST(-1), LIT(10), OP(mod)}},
        {"plus_uconst", 105, 2, {LIT(5), {.atom = DW_OP_plus_uconst, .number = 100}}},
        {"shl", 48, 3, {LIT(6), LIT(3), OP(shl)}},
        {"shl too far", 0, 3, {LIT(6), CONST(64), OP(shl)}},
        {"shr", UINT64_MAX >> 1, 3, {CONST(-1), LIT(1), OP(shr)}},
        {"shra", (uint64_t)-1, 3, {CONST(-2), LIT(1), OP(shra)}},
        {"shra too far", (uint64_t)-1, 3, {CONST(-2), CONST(200), OP(shra)}},
        {"eq", 0, 3, {LIT(6), LIT(12), OP(eq)}},
        {"ne", 1, 3, {LIT(6), LIT(12), OP(ne)}},
        {"ge is signed", 0, 3, {CONST(-1), LIT(0), OP(ge)}},
        {"gt", 0, 3, {LIT(6), LIT(6), OP(gt)}},
        {"le", 1, 3, {LIT(6), LIT(6), OP(le)}},
        {"lt is signed", 1, 3, {CONST(-1), LIT(0), OP(lt)}},
        {"nop", 6, 2, {LIT(6), OP(nop)}},
        {"skip", 1, 4,
                {{.atom = DW_OP_lit1, .offset = 0}, {.atom = DW_OP_skip, .number = 1, .offset = 1},
                        {.atom = DW_OP_lit2, .offset = 4}, {.atom = DW_OP_nop, .offset = 5}}},
        {"bra taken, to the end", 1, 5,
                {{.atom = DW_OP_lit1, .offset = 0}, {.atom = DW_OP_lit1, .offset = 1},
                        {.atom = DW_OP_bra, .number = 2, .offset = 2}, {.atom = DW_OP_lit2, .offset = 5},
                        {.atom = DW_OP_nop, .offset = 6}}},
        {"bra not taken", 2, 4,
                {{.atom = DW_OP_lit1, .offset = 0}, {.atom = DW_OP_lit0, .offset = 1},
                        {.atom = DW_OP_bra, .number = 1, .offset = 2}, {.atom = DW_OP_lit2, .offset = 5}}},
        /* The CFA of a PLT entry of x86-64: 8 more once the first push is done, at byte 11. */
        {"PLT entry", STACK_START + 8, 8,
                {{.atom = DW_OP_breg7, .number = 8}, {.atom = DW_OP_breg16}, LIT(15), OP(and), LIT(11),
                        OP(ge), LIT(3), OP(shl)}},
};

Test(expression, examples)
{
	for (size_t i = 0; i < N_ELEMENTS(examples); i++) {
		const struct example *example = &examples[i];
		uint64_t value = 0xbad;

		/* The last one leaves two values; the sum is what the PLT rule goes on to. */
		if (strcmp(example->what, "PLT entry") == 0) {
			Dwarf_Op ops[9];

			memcpy(ops, example->ops, sizeof(example->ops));
			ops[8] = (Dwarf_Op)OP(plus);
			cr_expect_eq(evaluate(ops, 9, &value), EXPRESSION_DONE);
		} else {
			cr_expect_eq(evaluate(example->ops, example->n_ops, &value), EXPRESSION_DONE, "%s",
			        example->what);
		}
		cr_expect_eq(value, example->value, "%s: %#lx", example->what, (unsigned long)value);
	}
}

static void expect_state(enum expression_state state, const Dwarf_Op *ops, size_t n_ops, const char *what)
{
	uint64_t value = 0xbad;

	cr_expect_eq(evaluate(ops, n_ops, &value), state, "%s", what);
	cr_expect_eq(value, 0xbad, "%s: a result was written", what);
}

Test(expression, failures)
{
	const Dwarf_Op empty[] = {OP(plus)};
	const Dwarf_Op nothing_left[] = {LIT(1), OP(drop)};
	const Dwarf_Op zero[] = {LIT(1), LIT(0), OP(div)};
	const Dwarf_Op zero_mod[] = {LIT(1), LIT(0), OP(mod)};
	const Dwarf_Op unknown[] = {LIT(1), {.atom = DW_OP_GNU_entry_value}};
	const Dwarf_Op deep[] = {LIT(1), {.atom = DW_OP_pick, .number = 1}};
	const Dwarf_Op wide[] = {{.atom = DW_OP_breg7}, {.atom = DW_OP_deref_size, .number = 9}};
	const Dwarf_Op lost[] = {{.atom = DW_OP_breg3}};
	const Dwarf_Op no_register[] = {{.atom = DW_OP_bregx, .number = 99}};
	const Dwarf_Op below[] = {{.atom = DW_OP_breg7, .number = (Dwarf_Word)-1}, OP(deref)};
	const Dwarf_Op beyond[] = {{.atom = DW_OP_breg7, .number = 25}, OP(deref)};
	const Dwarf_Op endless[] = {{.atom = DW_OP_skip, .number = 0xfffd, .offset = 0}};
	const Dwarf_Op between[] = {{.atom = DW_OP_skip, .number = 1, .offset = 0},
	        {.atom = DW_OP_const8u, .offset = 3}, {.atom = DW_OP_nop, .offset = 12}};

	expect_state(EXPRESSION_BAD, empty, 1, "empty stack");
	expect_state(EXPRESSION_BAD, nothing_left, 2, "nothing left");
	expect_state(EXPRESSION_BAD, zero, 3, "division by 0");
	expect_state(EXPRESSION_BAD, zero_mod, 3, "modulo 0");
	expect_state(EXPRESSION_BAD, unknown, 2, "unknown operation");
	expect_state(EXPRESSION_BAD, deep, 2, "pick below the bottom");
	expect_state(EXPRESSION_BAD, wide, 2, "deref of 9 bytes");
	expect_state(EXPRESSION_UNREADABLE, lost, 1, "lost register");
	expect_state(EXPRESSION_UNREADABLE, no_register, 1, "no such register");
	expect_state(EXPRESSION_UNREADABLE, below, 2, "memory below the copy");
	expect_state(EXPRESSION_UNREADABLE, beyond, 2, "memory across the end of the copy");
	expect_state(EXPRESSION_BAD, endless, 1, "endless loop");
	expect_state(EXPRESSION_BAD, between, 3, "jump into an operation");
}

Test(expression, stack_is_bounded)
{
	Dwarf_Op ops[100];
	uint64_t value;

	for (size_t i = 0; i < N_ELEMENTS(ops); i++)
		ops[i] = (Dwarf_Op)LIT(1);
	cr_assert_eq(evaluate(ops, 64, &value), EXPRESSION_DONE);
	cr_assert_eq(evaluate(ops, 65, &value), EXPRESSION_BAD);
}

Test(expression, random_operations_stay_in_bounds)
{
	srandom(1);
	for (size_t round = 0; round < 200000; round++) {
		Dwarf_Op ops[24];
		size_t n = 1 + (size_t)random() % N_ELEMENTS(ops);
		uint64_t value;

		for (size_t i = 0; i < n; i++) {
			uint64_t number = (uint64_t)random();

			ops[i] = (Dwarf_Op){.atom = (uint8_t)random(),
			        .offset = i,
			        .number = random() % 2 ? number % 8 : -number,
			        .number2 = (uint64_t)random()};
		}
		cr_assert_leq(evaluate(ops, n, &value), EXPRESSION_BAD);
	}
}
