/* rule.h: how the registers of a caller follow from those of its callee, at one code address. */
#ifndef POST_UNWIND_RULE_H
#define POST_UNWIND_RULE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/arch.h"

/* Registers that a rule may speak of; enough for every architecture in arch.c. */
#define RULE_MAX_REGISTERS 33

enum rule_kind {
	RULE_UNDEFINED,     /* lost; of the return address: there is no caller */
	RULE_AT_CFA,        /* in memory at CFA + offset */
	RULE_IS_CFA,        /* CFA + offset itself */
	RULE_IS_REGISTER,   /* the callee's register + offset */
	RULE_AT_EXPRESSION, /* in memory where the expression says */
	RULE_IS_EXPRESSION, /* the expression's value */
};

struct rule_value {
	enum rule_kind kind;
	unsigned reg;
	int64_t offset;
	Dwarf_Op *ops; /* of the rule */
	size_t n_ops;
};

struct rule_register {
	unsigned reg;
	struct rule_value value;
};

struct rule {
	struct rule_value cfa;   /* RULE_IS_REGISTER or RULE_IS_EXPRESSION */
	bool signal_frame;       /* its caller was interrupted and did not call */
	unsigned return_address; /* the register that holds it */
	size_t n_registers;
	struct rule_register registers[]; /* those that change; all others keep their value */
};

/* Takes over what libdw says of a frame. 0, -ENOMEM, or -EBADMSG for what cannot be evaluated. */
int rule_new(const struct unwind_arch *arch, Dwarf_Frame *frame, struct rule **ret_rule);

/* NULL-safe; returns NULL. */
struct rule *rule_free(struct rule *rule);

#endif
