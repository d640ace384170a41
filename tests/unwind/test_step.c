/* Proves the single steps: by rules of every kind, at a function's entry, and by frame records. */
#include "unwind/step.h"

#include <criterion/criterion.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

#define START 0x7000
#define RSP   7
#define RBP   6
#define RBX   3
#define RIP   16

static uint64_t words[16];

static const struct unwind_memory memory = {
        .start = START, .bytes = (const uint8_t *)words, .n_bytes = sizeof(words)};

static const struct unwind_arch *x86(void)
{
	return unwind_arch_find("x86_64");
}

static const struct unwind_arch *arm(void)
{
	return unwind_arch_find("aarch64");
}

static struct unwind_registers start_registers(void)
{
	struct unwind_registers registers = {0};

	for (unsigned i = 0; i < RULE_MAX_REGISTERS; i++)
		unwind_register_set(&registers, i, 0x100 + i);
	unwind_register_set(&registers, RSP, START);
	for (size_t i = 0; i < N_ELEMENTS(words); i++)
		words[i] = 0xa000 + i;
	return registers;
}

/* A rule with a CFA of register + offset. */
static struct rule *make_rule(unsigned reg, int64_t offset, const struct rule_register *entries, size_t n)
{
	struct rule *rule = calloc(1, sizeof(*rule) + n * sizeof(entries[0]));

	rule->cfa = (struct rule_value){.kind = RULE_IS_REGISTER, .reg = reg, .offset = offset};
	rule->return_address = RIP;
	rule->n_registers = n;
	for (size_t i = 0; i < n; i++)
		rule->registers[i] = entries[i];
	return rule;
}

static const struct rule_register return_address = {RIP, {.kind = RULE_AT_CFA, .offset = -8}};

Test(step, by_rule)
{
	struct unwind_registers registers = start_registers();
	Dwarf_Op saved[] = {{.atom = DW_OP_breg7, .number = 16}};
	Dwarf_Op value[] = {{.atom = DW_OP_breg5, .number = 1}};
	const struct rule_register entries[] = {
	        return_address,
	        {RBX, {.kind = RULE_AT_CFA, .offset = -32}},
	        {RBP, {.kind = RULE_AT_EXPRESSION, .ops = saved, .n_ops = 1}},
	        {12, {.kind = RULE_IS_EXPRESSION, .ops = value, .n_ops = 1}},
	        {13, {.kind = RULE_IS_CFA, .offset = 5}},
	        {14, {.kind = RULE_IS_REGISTER, .reg = 15, .offset = 2}},
	        {0, {.kind = RULE_UNDEFINED}},
	};
	CLEANUP_FREE struct rule *rule = make_rule(RSP, 32, entries, N_ELEMENTS(entries));
	uint64_t lost;

	cr_assert_eq(step_by_rule(x86(), rule, &memory, &registers), STEP_DONE);
	cr_expect_eq(registers.values[RIP], 0xa003);
	cr_expect_eq(registers.values[RSP], START + 32);
	cr_expect_eq(registers.values[RBX], 0xa000);
	cr_expect_eq(registers.values[RBP], 0xa002);
	cr_expect_eq(registers.values[12], 0x106);
	cr_expect_eq(registers.values[13], START + 37);
	cr_expect_eq(registers.values[14], 0x10f + 2);
	cr_expect_eq(registers.values[15], 0x10f, "what no rule speaks of keeps its value");
	cr_expect_not(unwind_register_get(&registers, 0, &lost));
}

static void expect_unchanged(enum step_state state, struct rule *rule, const char *what)
{
	struct unwind_registers registers = start_registers(), before = registers;

	cr_expect_eq(step_by_rule(x86(), rule, &memory, &registers), state, "%s", what);
	cr_expect_eq(memcmp(&registers, &before, sizeof(before)), 0, "%s", what);
	free(rule);
}

Test(step, by_rule_that_leads_nowhere)
{
	const struct rule_register undefined = {RIP, {.kind = RULE_UNDEFINED}};
	const struct rule_register far = {RIP, {.kind = RULE_AT_CFA, .offset = 4096}};
	const struct rule_register lost_sp[] = {return_address, {RSP, {.kind = RULE_UNDEFINED}}};
	const struct rule_register elsewhere = {RIP, {.kind = RULE_IS_REGISTER, .reg = 5}};
	Dwarf_Op bad[] = {{.atom = DW_OP_plus}};
	const struct rule_register broken = {RIP, {.kind = RULE_IS_EXPRESSION, .ops = bad, .n_ops = 1}};

	expect_unchanged(STEP_BASE, make_rule(RSP, 8, &undefined, 1), "undefined return address");
	expect_unchanged(STEP_UNREADABLE, make_rule(RSP, 8, &far, 1), "return address outside");
	expect_unchanged(STEP_UNREADABLE, make_rule(RSP, 8, lost_sp, 2), "no stack pointer");
	expect_unchanged(STEP_BAD_RULE, make_rule(RSP, 8, &broken, 1), "broken expression");
	expect_unchanged(STEP_UNREADABLE, make_rule(40, 8, &return_address, 1), "CFA by no register");
	expect_unchanged(STEP_NO_PROGRESS, make_rule(RSP, 0, &elsewhere, 1), "CFA not above");
}

Test(step, null_return_address_is_the_base)
{
	struct unwind_registers registers = start_registers();
	CLEANUP_FREE struct rule *rule = make_rule(RSP, 8, &return_address, 1);

	words[0] = 0;
	cr_expect_eq(step_by_rule(x86(), rule, &memory, &registers), STEP_BASE);
}

/* A saved register above the end of the copy is not needed to go on. */
Test(step, unreadable_register_is_lost)
{
	struct unwind_registers registers = start_registers();
	const struct rule_register entries[] = {return_address, {RBX, {.kind = RULE_AT_CFA, .offset = 4096}}};
	CLEANUP_FREE struct rule *rule = make_rule(RSP, 8, entries, 2);
	uint64_t value;

	cr_expect_eq(step_by_rule(x86(), rule, &memory, &registers), STEP_DONE);
	cr_expect_not(unwind_register_get(&registers, RBX, &value));
}

Test(step, interrupted_on_another_stack)
{
	struct unwind_registers registers = start_registers();
	const struct rule_register entries[] = {return_address, {RSP, {.kind = RULE_IS_REGISTER, .reg = 5}}};
	CLEANUP_FREE struct rule *rule = make_rule(RSP, 8, entries, 2);

	rule->signal_frame = true;
	cr_expect_eq(step_by_rule(x86(), rule, &memory, &registers), STEP_OTHER_STACK);
	cr_expect_eq(registers.values[RIP], 0xa000);
	cr_expect_eq(registers.values[RSP], 0x105);
}

Test(step, at_entry)
{
	struct unwind_registers registers = start_registers();

	cr_assert_eq(step_at_entry(x86(), &memory, &registers), STEP_DONE);
	cr_expect_eq(registers.values[RIP], 0xa000);
	cr_expect_eq(registers.values[RSP], START + 8);
	cr_expect_eq(registers.values[RBP], 0x106);
	unwind_register_set(&registers, RSP, START + sizeof(words) - 7);
	cr_expect_eq(step_at_entry(x86(), &memory, &registers), STEP_UNREADABLE);
}

Test(step, by_frame_pointer)
{
	struct unwind_registers registers = start_registers();
	uint64_t value;

	unwind_register_set(&registers, RBP, START + 16);
	cr_assert_eq(step_by_frame_pointer(x86(), &memory, &registers), STEP_DONE);
	cr_expect_eq(registers.values[RIP], 0xa003);
	cr_expect_eq(registers.values[RBP], 0xa002);
	cr_expect_eq(registers.values[RSP], START + 32);
	cr_expect_not(unwind_register_get(&registers, RBX, &value), "the record says nothing of it");

	registers = start_registers();
	unwind_register_set(&registers, RBP, START - 8);
	cr_expect_eq(step_by_frame_pointer(x86(), &memory, &registers), STEP_NO_PROGRESS);
	unwind_register_set(&registers, RBP, START + 12);
	cr_expect_eq(step_by_frame_pointer(x86(), &memory, &registers), STEP_NO_PROGRESS, "not aligned");
	unwind_register_set(&registers, RBP, START + sizeof(words) - 8);
	cr_expect_eq(step_by_frame_pointer(x86(), &memory, &registers), STEP_UNREADABLE);
	unwind_register_lose(&registers, RBP);
	cr_expect_eq(step_by_frame_pointer(x86(), &memory, &registers), STEP_UNREADABLE);
}

/* A leaf of AArch64 returns through x30 and leaves the stack pointer alone; the second time that would go
 * round in circles. Pointer authentication codes are no address. */
Test(step, leaf_of_aarch64)
{
	struct unwind_registers registers = start_registers();
	CLEANUP_FREE struct rule *rule = make_rule(31, 0, NULL, 0);

	rule->return_address = 30;
	unwind_register_set(&registers, 31, START);
	unwind_register_set(&registers, 30, 0x002a00000000b000);
	cr_assert_eq(step_by_rule(arm(), rule, &memory, &registers), STEP_DONE);
	cr_expect_eq(registers.values[32], 0xb000);
	cr_expect_eq(registers.values[31], START);
	cr_expect_eq(step_by_rule(arm(), rule, &memory, &registers), STEP_NO_PROGRESS);

	registers = start_registers();
	unwind_register_set(&registers, 30, 0x002a00000000b000);
	cr_assert_eq(step_at_entry(arm(), &memory, &registers), STEP_DONE);
	cr_expect_eq(registers.values[32], 0xb000);
}
