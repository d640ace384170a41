/* expression.c: evaluates the DWARF expressions of call frame information. */
#include "unwind/expression.h"

#include <dwarf.h>
#include <string.h>

#define MAX_STEPS 2048
#define MAX_STACK 64

struct machine {
	const Dwarf_Op *ops;
	size_t n_ops;
	size_t at;
	const struct unwind_registers *registers;
	const struct unwind_memory *memory;
	uint64_t cfa;
	uint64_t stack[MAX_STACK];
	size_t depth;
	enum expression_state state;
};

static void push(struct machine *machine, uint64_t value)
{
	if (machine->depth == MAX_STACK)
		machine->state = EXPRESSION_BAD;
	else
		machine->stack[machine->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
	if (machine->depth > 0)
		return machine->stack[--machine->depth];
	machine->state = EXPRESSION_BAD;
	return 0;
}

/* Pushes the value that lies n below the top. */
static void pick(struct machine *machine, uint64_t n)
{
	if (n >= machine->depth)
		machine->state = EXPRESSION_BAD;
	else
		push(machine, machine->stack[machine->depth - 1 - n]);
}

/* The top n values turn by one: the top goes below the others. */
static void rotate(struct machine *machine, size_t n)
{
	uint64_t *values, top;

	if (n > machine->depth) {
		machine->state = EXPRESSION_BAD;
		return;
	}
	values = machine->stack + machine->depth - n;
	top = values[n - 1];
	memmove(values + 1, values, (n - 1) * sizeof(values[0]));
	values[0] = top;
}

static void push_register(struct machine *machine, uint64_t reg, uint64_t offset)
{
	uint64_t value = 0;

	if (reg >= RULE_MAX_REGISTERS || !unwind_register_get(machine->registers, (unsigned)reg, &value))
		machine->state = EXPRESSION_UNREADABLE;
	push(machine, value + offset);
}

static void dereference(struct machine *machine, uint64_t size)
{
	uint64_t address = pop(machine), value = 0;

	if (size == 0 || size > 8)
		machine->state = EXPRESSION_BAD;
	else if (!unwind_memory_read(machine->memory, address, (unsigned)size, &value))
		machine->state = EXPRESSION_UNREADABLE;
	push(machine, value);
}

/* Goes on at the operation that starts `distance` bytes behind the end of the present one. */
static void jump(struct machine *machine, const Dwarf_Op *op, int16_t distance)
{
	Dwarf_Word target = op->offset + 3 + (Dwarf_Word)(int64_t)distance;

	for (size_t i = 0; i < machine->n_ops; i++) {
		if (machine->ops[i].offset == target) {
			machine->at = i;
			return;
		}
	}
	machine->at = machine->n_ops;
	if (target <= machine->ops[machine->n_ops - 1].offset)
		machine->state = EXPRESSION_BAD;
}

static uint64_t shift(uint8_t atom, uint64_t value, uint64_t by)
{
	if (atom == DW_OP_shra)
		return (uint64_t)((int64_t)value >> (by < 64 ? by : 63));
	if (by >= 64)
		return 0;
	return atom == DW_OP_shl ? value << by : value >> by;
}

/* Division is signed; the one quotient that overflows wraps. */
static uint64_t divide(struct machine *machine, uint8_t atom, uint64_t left, uint64_t right)
{
	if (right == 0) {
		machine->state = EXPRESSION_BAD;
		return 0;
	}
	if (atom == DW_OP_mod)
		return left % right;
	if (right == UINT64_MAX)
		return -left;
	return (uint64_t)((int64_t)left / (int64_t)right);
}

/* Operations on the two topmost values; false where `atom` is none. */
static bool binary(struct machine *machine, uint8_t atom)
{
	uint64_t right, left, value;

	if (!((atom >= DW_OP_and && atom <= DW_OP_mul) || (atom >= DW_OP_or && atom <= DW_OP_plus) ||
	            (atom >= DW_OP_shl && atom <= DW_OP_xor) || (atom >= DW_OP_eq && atom <= DW_OP_ne)))
		return false;
	right = pop(machine);
	left = pop(machine);
	switch (atom) {
	case DW_OP_and:
		value = left & right;
		break;
	case DW_OP_div:
	case DW_OP_mod:
		value = divide(machine, atom, left, right);
		break;
	case DW_OP_minus:
		value = left - right;
		break;
	case DW_OP_mul:
		value = left * right;
		break;
	case DW_OP_or:
		value = left | right;
		break;
	case DW_OP_plus:
		value = left + right;
		break;
	case DW_OP_xor:
		value = left ^ right;
		break;
	case DW_OP_eq:
		value = left == right;
		break;
	case DW_OP_ne:
		value = left != right;
		break;
	case DW_OP_ge:
		value = (int64_t)left >= (int64_t)right;
		break;
	case DW_OP_gt:
		value = (int64_t)left > (int64_t)right;
		break;
	case DW_OP_le:
		value = (int64_t)left <= (int64_t)right;
		break;
	case DW_OP_lt:
		value = (int64_t)left < (int64_t)right;
		break;
	default:
		value = shift(atom, left, right);
		break;
	}
	push(machine, value);
	return true;
}

/* Constants and registers; false where the operation is none. */
static bool leaf(struct machine *machine, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		push(machine, op->atom - DW_OP_lit0);
	else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		push_register(machine, op->atom - DW_OP_breg0, op->number);
	else if (op->atom == DW_OP_bregx)
		push_register(machine, op->number, op->number2);
	else if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)
		push(machine, op->number); /* libdw has extended the signed ones */
	else if (op->atom == DW_OP_call_frame_cfa)
		push(machine, machine->cfa);
	else
		return false;
	return true;
}

static uint64_t absolute(uint64_t value)
{
	return (int64_t)value < 0 ? -value : value;
}

static void step(struct machine *machine, const Dwarf_Op *op)
{
	if (leaf(machine, op) || binary(machine, op->atom))
		return;
	switch (op->atom) {
	case DW_OP_nop:
		break;
	case DW_OP_dup:
		pick(machine, 0);
		break;
	case DW_OP_over:
		pick(machine, 1);
		break;
	case DW_OP_pick:
		pick(machine, op->number);
		break;
	case DW_OP_drop:
		pop(machine);
		break;
	case DW_OP_swap:
		rotate(machine, 2);
		break;
	case DW_OP_rot:
		rotate(machine, 3);
		break;
	case DW_OP_deref:
		dereference(machine, 8);
		break;
	case DW_OP_deref_size:
		dereference(machine, op->number);
		break;
	case DW_OP_abs:
		push(machine, absolute(pop(machine)));
		break;
	case DW_OP_neg:
		push(machine, -pop(machine));
		break;
	case DW_OP_not:
		push(machine, ~pop(machine));
		break;
	case DW_OP_plus_uconst:
		push(machine, pop(machine) + op->number);
		break;
	case DW_OP_skip:
		jump(machine, op, (int16_t)op->number);
		break;
	case DW_OP_bra:
		if (pop(machine) != 0)
			jump(machine, op, (int16_t)op->number);
		break;
	default:
		machine->state = EXPRESSION_BAD;
		break;
	}
}

enum expression_state expression_evaluate(const Dwarf_Op *ops, size_t n_ops,
        const struct unwind_registers *registers, const struct unwind_memory *memory, uint64_t cfa,
        uint64_t *ret_value)
{
	struct machine machine = {
	        .ops = ops, .n_ops = n_ops, .registers = registers, .memory = memory, .cfa = cfa};
	uint64_t value;

	for (size_t n_steps = 0; machine.at < n_ops; n_steps++) {
		const Dwarf_Op *op = &ops[machine.at++];

		if (n_steps == MAX_STEPS)
			return EXPRESSION_BAD;
		step(&machine, op);
		if (machine.state != EXPRESSION_DONE)
			return machine.state;
	}
	value = pop(&machine);
	if (machine.state == EXPRESSION_DONE)
		*ret_value = value;
	return machine.state;
}
