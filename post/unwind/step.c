/* step.c: from one frame to its caller. */
#include "unwind/step.h"

#include "unwind/expression.h"

static enum step_state from_expression(enum expression_state state)
{
	if (state == EXPRESSION_DONE)
		return STEP_DONE;
	return state == EXPRESSION_UNREADABLE ? STEP_UNREADABLE : STEP_BAD_RULE;
}

/* The caller's value of a register. STEP_BASE: it is undefined. */
static enum step_state evaluate(const struct rule_value *value, const struct unwind_registers *registers,
        const struct unwind_memory *memory, uint64_t cfa, uint64_t *ret_value)
{
	enum expression_state state;
	uint64_t result = cfa + (uint64_t)value->offset;
	bool readable = true;

	switch (value->kind) {
	case RULE_UNDEFINED:
		return STEP_BASE;
	case RULE_IS_CFA:
		break;
	case RULE_AT_CFA:
		readable = unwind_memory_read(memory, result, 8, &result);
		break;
	case RULE_IS_REGISTER:
		readable = unwind_register_get(registers, value->reg, &result);
		result += (uint64_t)value->offset;
		break;
	case RULE_AT_EXPRESSION:
	case RULE_IS_EXPRESSION:
		state = expression_evaluate(value->ops, value->n_ops, registers, memory, cfa, &result);
		if (state != EXPRESSION_DONE)
			return from_expression(state);
		if (value->kind == RULE_AT_EXPRESSION)
			readable = unwind_memory_read(memory, result, 8, &result);
		break;
	}
	if (!readable)
		return STEP_UNREADABLE;
	*ret_value = result;
	return STEP_DONE;
}

/* Moves to the caller when it has a return address and lies above; the same end of every kind of step. */
static enum step_state finish(const struct unwind_arch *arch, const struct unwind_registers *caller,
        struct unwind_registers *registers)
{
	if (caller->values[arch->pc] == 0)
		return STEP_BASE;
	if (caller->values[arch->sp] <= registers->values[arch->sp])
		return STEP_NO_PROGRESS;
	*registers = *caller;
	return STEP_DONE;
}

/* A function that has not touched the stack returns through the link register and leaves the stack pointer
 * alone. Twice in a row that would give the same return address: no endless loop. */
static bool is_leaf(const struct unwind_arch *arch, const struct unwind_registers *callee,
        const struct unwind_registers *caller)
{
	return arch->link != arch->pc && caller->values[arch->sp] == callee->values[arch->sp] &&
	       caller->values[arch->link] == callee->values[arch->link] &&
	       caller->values[arch->pc] != callee->values[arch->pc];
}

/* STEP_DONE where the register has a value or the loss does not matter. */
static enum step_state apply_register(const struct unwind_arch *arch, const struct rule *rule,
        const struct rule_register *entry, const struct unwind_registers *callee,
        const struct unwind_memory *memory, uint64_t cfa, struct unwind_registers *caller)
{
	enum step_state state;
	uint64_t value;

	state = evaluate(&entry->value, callee, memory, cfa, &value);
	if (state == STEP_DONE) {
		unwind_register_set(caller, entry->reg, value);
		return STEP_DONE;
	}
	unwind_register_lose(caller, entry->reg);
	if (entry->reg == rule->return_address)
		return state;
	if (entry->reg == arch->sp)
		return state == STEP_BASE ? STEP_UNREADABLE : state;
	return STEP_DONE;
}

enum step_state step_by_rule(const struct unwind_arch *arch, const struct rule *rule,
        const struct unwind_memory *memory, struct unwind_registers *registers)
{
	struct unwind_registers caller = *registers;
	enum step_state state;
	uint64_t cfa, pc;

	state = evaluate(&rule->cfa, registers, memory, 0, &cfa);
	if (state != STEP_DONE)
		return state;
	unwind_register_set(&caller, arch->sp, cfa);
	for (size_t i = 0; i < rule->n_registers; i++) {
		state = apply_register(arch, rule, &rule->registers[i], registers, memory, cfa, &caller);
		if (state != STEP_DONE)
			return state;
	}
	if (!unwind_register_get(&caller, rule->return_address, &pc))
		return STEP_UNREADABLE;
	unwind_register_set(&caller, arch->pc, pc & arch->address_mask);
	if (is_leaf(arch, registers, &caller)) {
		*registers = caller;
		return STEP_DONE;
	}
	state = finish(arch, &caller, registers);
	if (state == STEP_NO_PROGRESS && rule->signal_frame) {
		*registers = caller;
		return STEP_OTHER_STACK;
	}
	return state;
}

enum step_state step_at_entry(const struct unwind_arch *arch, const struct unwind_memory *memory,
        struct unwind_registers *registers)
{
	struct unwind_registers caller = *registers;
	uint64_t sp, pc;

	if (!unwind_register_get(registers, arch->sp, &sp))
		return STEP_UNREADABLE;
	if (arch->link != arch->pc) {
		/* The stack pointer stays: the function has no frame. */
		if (!unwind_register_get(registers, arch->link, &pc))
			return STEP_UNREADABLE;
		if (pc == 0)
			return STEP_BASE;
		unwind_register_set(registers, arch->pc, pc & arch->address_mask);
		return STEP_DONE;
	}
	if (!unwind_memory_read(memory, sp, 8, &pc))
		return STEP_UNREADABLE;
	unwind_register_set(&caller, arch->sp, sp + 8);
	unwind_register_set(&caller, arch->pc, pc);
	return finish(arch, &caller, registers);
}

enum step_state step_by_frame_pointer(const struct unwind_arch *arch, const struct unwind_memory *memory,
        struct unwind_registers *registers)
{
	struct unwind_registers caller = {0};
	uint64_t fp, sp, caller_fp, pc;

	if (!unwind_register_get(registers, arch->fp, &fp) || !unwind_register_get(registers, arch->sp, &sp))
		return STEP_UNREADABLE;
	if (fp < sp || fp % 8 != 0)
		return STEP_NO_PROGRESS;
	if (!unwind_memory_read(memory, fp, 8, &caller_fp) || !unwind_memory_read(memory, fp + 8, 8, &pc))
		return STEP_UNREADABLE;
	unwind_register_set(&caller, arch->fp, caller_fp);
	unwind_register_set(&caller, arch->sp, fp + 16);
	unwind_register_set(&caller, arch->pc, pc & arch->address_mask);
	return finish(arch, &caller, registers);
}
