/* module_rules.c: the unwind rules of one module, found by code address and kept once found. */
#include "unwind/module_rules.h"

#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>

#include "unwind/cfi_check.h"
#include "unwind/eh_frame.h"
#include "unwind/elf_image.h"
#include "util/cleanup.h"

#define CACHE_FIRST 64

/* Open addressing, a power of two of slots, at most half of them used. */
struct cache_slot {
	uint64_t svma;
	struct rule *rule; /* NULL unless state is MODULE_RULE_FOUND */
	uint8_t state;     /* enum module_rule_state */
	bool used;
};

struct module_rules {
	const struct unwind_arch *arch;
	struct eh_frame_index index;
	uint8_t *image;
	Elf *elf;
	Dwarf_CFI *cfi; /* NULL where the index is empty */
	struct cache_slot *slots;
	size_t n_slots;
	size_t n_used;
};

static void cleanup_rules(struct module_rules **rules)
{
	module_rules_free(*rules);
}

static int open_cfi(struct module_rules *rules)
{
	size_t size;
	int r;

	r = elf_image_build(&rules->index, rules->arch->elf_machine, &rules->image, &size);
	if (r < 0)
		return r;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EBADMSG;
	rules->elf = elf_memory((char *)rules->image, size);
	if (!rules->elf)
		return -ENOMEM;
	rules->cfi = dwarf_getcfi_elf(rules->elf);
	return rules->cfi ? 0 : -EBADMSG;
}

int module_rules_new(const struct unwind_arch *arch, const uint8_t *eh_frame, size_t n_bytes, uint64_t svma,
        struct module_rules **ret_rules)
{
	CLEANUP(cleanup_rules) struct module_rules *rules = calloc(1, sizeof(*rules));
	int r;

	if (!rules)
		return -ENOMEM;
	rules->arch = arch;
	r = eh_frame_index_init(&rules->index, eh_frame, n_bytes, svma);
	if (r < 0)
		return r;
	rules->slots = calloc(CACHE_FIRST, sizeof(rules->slots[0]));
	if (!rules->slots)
		return -ENOMEM;
	rules->n_slots = CACHE_FIRST;
	if (rules->index.n_fdes > 0)
		r = open_cfi(rules);
	if (r < 0)
		return r;
	*ret_rules = STEAL_PTR(rules);
	return 0;
}

static bool is_safe(const struct eh_frame_index *index, const struct eh_frame_fde *fde)
{
	const struct eh_frame_cie *cie = &index->cies[fde->cie];
	unsigned pointer_size = eh_frame_pointer_size(cie);
	const uint8_t *start, *end;

	return cfi_check(cie->instructions, cie->instructions_end, pointer_size) &&
	       eh_frame_instructions(index, fde, &start, &end) && cfi_check(start, end, pointer_size);
}

static int make_rule(struct module_rules *rules, uint64_t svma, struct rule **ret_rule)
{
	const struct eh_frame_fde *fde = eh_frame_index_find(&rules->index, svma);
	Dwarf_Frame *frame;
	int r;

	if (!fde)
		return MODULE_RULE_NONE;
	if (!is_safe(&rules->index, fde) || dwarf_cfi_addrframe(rules->cfi, svma, &frame) != 0)
		return MODULE_RULE_BAD;
	r = rule_new(rules->arch, frame, ret_rule);
	free(frame);
	return r == -EBADMSG ? MODULE_RULE_BAD : r;
}

static struct cache_slot *find_slot(struct cache_slot *slots, size_t n_slots, uint64_t svma)
{
	size_t i = (size_t)((svma * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (n_slots - 1);

	while (slots[i].used && slots[i].svma != svma)
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

static int grow_cache(struct module_rules *rules)
{
	size_t n_slots = rules->n_slots * 2;
	struct cache_slot *slots = calloc(n_slots, sizeof(slots[0]));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < rules->n_slots; i++) {
		if (rules->slots[i].used)
			*find_slot(slots, n_slots, rules->slots[i].svma) = rules->slots[i];
	}
	free(rules->slots);
	rules->slots = slots;
	rules->n_slots = n_slots;
	return 0;
}

int module_rules_find(struct module_rules *rules, uint64_t svma, const struct rule **ret_rule)
{
	struct cache_slot *slot = find_slot(rules->slots, rules->n_slots, svma);
	struct rule *rule = NULL;
	int r;

	if (!slot->used) {
		if (rules->n_used >= rules->n_slots / 2) {
			r = grow_cache(rules);
			if (r < 0)
				return r;
			slot = find_slot(rules->slots, rules->n_slots, svma);
		}
		r = make_rule(rules, svma, &rule);
		if (r < 0)
			return r;
		*slot = (struct cache_slot){.svma = svma, .rule = rule, .state = (uint8_t)r, .used = true};
		rules->n_used++;
	}
	if (slot->state == MODULE_RULE_FOUND)
		*ret_rule = slot->rule;
	return slot->state;
}

bool module_rules_function(const struct module_rules *rules, uint64_t svma, uint64_t *ret_start)
{
	const struct eh_frame_fde *fde = eh_frame_index_find(&rules->index, svma);

	if (!fde)
		return false;
	*ret_start = fde->start;
	return true;
}

uint64_t module_rules_n_bad(const struct module_rules *rules)
{
	return rules->index.n_bad;
}

bool module_rules_nth(const struct module_rules *rules, size_t n, uint64_t *ret_svma)
{
	if (n >= rules->index.n_fdes)
		return false;
	*ret_svma = rules->index.fdes[n].start;
	return true;
}

struct module_rules *module_rules_free(struct module_rules *rules)
{
	if (!rules)
		return NULL;
	for (size_t i = 0; i < rules->n_slots; i++)
		rule_free(rules->slots[i].rule);
	free(rules->slots);
	if (rules->cfi)
		dwarf_cfi_end(rules->cfi);
	if (rules->elf)
		elf_end(rules->elf);
	free(rules->image);
	eh_frame_index_deinit(&rules->index);
	free(rules);
	return NULL;
}
