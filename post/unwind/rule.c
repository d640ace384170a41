/* rule.c: from libdw's description of a frame to a rule that is quick to apply. */
#include "unwind/rule.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

/* More operations than any real expression has (the longest known ones, in libc's signal frames, have 2). */
#define MAX_OPS 512

static int copy_ops(const Dwarf_Op *ops, size_t n_ops, struct rule_value *value)
{
	if (n_ops == 0 || n_ops > MAX_OPS)
		return -EBADMSG;
	value->ops = malloc(n_ops * sizeof(ops[0]));
	if (!value->ops)
		return -ENOMEM;
	memcpy(value->ops, ops, n_ops * sizeof(ops[0]));
	value->n_ops = n_ops;
	return 0;
}

/* DW_OP_bregN and DW_OP_bregx: a register plus an offset. */
static bool is_register_plus(const Dwarf_Op *op, struct rule_value *ret_value)
{
	*ret_value = (struct rule_value){.kind = RULE_IS_REGISTER};
	if (op->atom == DW_OP_bregx) {
		ret_value->reg = op->number < RULE_MAX_REGISTERS ? (unsigned)op->number : RULE_MAX_REGISTERS;
		ret_value->offset = (int64_t)op->number2;
		return true;
	}
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		ret_value->reg = op->atom - DW_OP_breg0;
		ret_value->offset = (int64_t)op->number;
		return true;
	}
	return false;
}

static int read_cfa(Dwarf_Frame *frame, struct rule_value *ret_value)
{
	Dwarf_Op *ops;
	size_t n_ops;

	if (dwarf_frame_cfa(frame, &ops, &n_ops) != 0 || n_ops == 0)
		return -EBADMSG;
	if (n_ops == 1 && is_register_plus(&ops[0], ret_value))
		return ret_value->reg < RULE_MAX_REGISTERS ? 0 : -EBADMSG;
	*ret_value = (struct rule_value){.kind = RULE_IS_EXPRESSION};
	return copy_ops(ops, n_ops, ret_value);
}

/* DW_OP_regN and DW_OP_regx: the value is in another register. */
static bool is_register(const Dwarf_Op *op, struct rule_value *ret_value)
{
	uint64_t reg;

	if (op->atom == DW_OP_regx)
		reg = op->number;
	else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		reg = op->atom - DW_OP_reg0;
	else
		return false;
	*ret_value = (struct rule_value){.kind = RULE_IS_REGISTER};
	ret_value->reg = reg < RULE_MAX_REGISTERS ? (unsigned)reg : RULE_MAX_REGISTERS;
	return true;
}

/* Sorts a location description of libdw into the kinds above. */
static int read_value(const Dwarf_Op *ops, size_t n_ops, struct rule_value *ret_value)
{
	bool is_value = ops[n_ops - 1].atom == DW_OP_stack_value;
	size_t n = is_value ? n_ops - 1 : n_ops;

	if (n_ops == 1 && is_register(&ops[0], ret_value))
		return ret_value->reg < RULE_MAX_REGISTERS ? 0 : -EBADMSG;
	if (n >= 1 && ops[0].atom == DW_OP_call_frame_cfa &&
	        (n == 1 || (n == 2 && ops[1].atom == DW_OP_plus_uconst))) {
		*ret_value = (struct rule_value){
		        .kind = is_value ? RULE_IS_CFA : RULE_AT_CFA,
		        .offset = n == 2 ? (int64_t)ops[1].number : 0,
		};
		return 0;
	}
	*ret_value = (struct rule_value){.kind = is_value ? RULE_IS_EXPRESSION : RULE_AT_EXPRESSION};
	return copy_ops(ops, n, ret_value);
}

/* 0 with *ret_changed false where the register keeps its value. libdw 0.188 takes rbx for clobbered where
 * nothing is said of it (its default rules name register 0 in its place), so a callee-saved register is never
 * lost. */
static int read_register(const struct unwind_arch *arch, Dwarf_Frame *frame, unsigned reg, bool *ret_changed,
        struct rule_value *ret_value)
{
	bool callee_saved = arch->callee_saved >> reg & 1;
	Dwarf_Op memory[3], *ops;
	size_t n_ops;
	int r = 0;

	if (dwarf_frame_register(frame, (int)reg, memory, &ops, &n_ops) != 0)
		return -EBADMSG;
	if (n_ops == 0 && (!ops || callee_saved)) {
		*ret_changed = false;
		return 0;
	}
	if (n_ops == 0)
		*ret_value = (struct rule_value){.kind = RULE_UNDEFINED};
	else
		r = read_value(ops, n_ops, ret_value);
	if (r == 0)
		*ret_changed = true;
	return r;
}

static void cleanup_rule(struct rule **rule)
{
	rule_free(*rule);
}

int rule_new(const struct unwind_arch *arch, Dwarf_Frame *frame, struct rule **ret_rule)
{
	CLEANUP(cleanup_rule) struct rule *rule = NULL;
	struct rule *shrunk;
	Dwarf_Addr start, end;
	int return_address, r;

	rule = calloc(1, sizeof(*rule) + arch->n_registers * sizeof(rule->registers[0]));
	if (!rule)
		return -ENOMEM;
	return_address = dwarf_frame_info(frame, &start, &end, &rule->signal_frame);
	if (return_address < 0 || (unsigned)return_address >= arch->n_registers)
		return -EBADMSG;
	rule->return_address = (unsigned)return_address;
	r = read_cfa(frame, &rule->cfa);
	if (r < 0)
		return r;
	for (unsigned reg = 0; reg < arch->n_registers; reg++) {
		struct rule_register *entry = &rule->registers[rule->n_registers];
		bool changed;

		r = read_register(arch, frame, reg, &changed, &entry->value);
		if (r < 0)
			return r;
		if (!changed)
			continue;
		entry->reg = reg;
		rule->n_registers++;
	}
	shrunk = realloc(rule, sizeof(*rule) + rule->n_registers * sizeof(rule->registers[0]));
	if (shrunk)
		rule = shrunk;
	*ret_rule = STEAL_PTR(rule);
	return 0;
}

struct rule *rule_free(struct rule *rule)
{
	if (!rule)
		return NULL;
	free(rule->cfa.ops);
	for (size_t i = 0; i < rule->n_registers; i++)
		free(rule->registers[i].value.ops);
	free(rule);
	return NULL;
}
