/* module_rules.h: the unwind rules of one module, found by code address and kept once found. */
#ifndef POST_UNWIND_MODULE_RULES_H
#define POST_UNWIND_MODULE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/arch.h"
#include "unwind/rule.h"

struct module_rules;

/* What module_rules_find returns besides errors. */
enum module_rule_state {
	MODULE_RULE_FOUND = 0,
	MODULE_RULE_NONE = 1, /* no description covers the address */
	MODULE_RULE_BAD = 2,  /* one does, and cannot be understood */
};

/* Reads the section `eh_frame`, whose first byte has the address `svma`; it is borrowed and must outlive the
 * rules. 0, -ENOMEM, or -EBADMSG where libdw refuses the section. */
int module_rules_new(const struct unwind_arch *arch, const uint8_t *eh_frame, size_t n_bytes, uint64_t svma,
        struct module_rules **ret_rules);

/* The rule at the code address `svma`: that of the call for a caller (PC - 1), the PC itself for an
 * interrupted frame. *ret_rule belongs to `rules`. enum module_rule_state or -ENOMEM. */
int module_rules_find(struct module_rules *rules, uint64_t svma, const struct rule **ret_rule);

/* Where the description that covers `svma` starts: nearly always the first byte of a function. False where
 * there is none. */
bool module_rules_function(const struct module_rules *rules, uint64_t svma, uint64_t *ret_start);

/* The first address of the n-th description, in the order of addresses; false where there are fewer. */
bool module_rules_nth(const struct module_rules *rules, size_t n, uint64_t *ret_svma);

/* Descriptions that were left out because they make no sense. */
uint64_t module_rules_n_bad(const struct module_rules *rules);

/* NULL-safe; returns NULL. */
struct module_rules *module_rules_free(struct module_rules *rules);

#endif
