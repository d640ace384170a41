/* test_rules.c: the compiled rules say what libdw says, on the C library itself. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "record.h"
#include "unwind/rules.h"

#define RBP 6
#define RSP 7

/* The rule by libdw, as far as it has one of the two simple forms; -1 otherwise. */
static int64_t rule_by_libdw(Dwarf_CFI *cfi, uint64_t svma)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t n_ops;
	int64_t rule = -1;

	if (dwarf_cfi_addrframe(cfi, svma, &frame))
		return -1;
	if (dwarf_frame_cfa(frame, &ops, &n_ops) == 0 && n_ops == 1 && ops[0].atom == DW_OP_bregx) {
		uint64_t reg = ops[0].number, offset = ops[0].number2;

		if (offset % 8 == 0 && (reg == RSP || reg == RBP))
			rule = RULE(reg == RSP ? RULE_SP : RULE_FP_BASED, offset / 8, 0);
	}
	free(frame);
	return rule;
}

Test(rules, equal_libdw_on_the_c_library)
{
	Dl_info info;
	struct rules rules;
	size_t n_equal = 0;
	Elf *elf;
	Dwarf_CFI *cfi;
	int fd;

	cr_assert_neq(dladdr((void *)getpid, &info), 0);
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_assert_eq(rules_compile(fd, &rules), 0);
	cr_assert_gt(rules.n_rows, 5000);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	cfi = dwarf_getcfi_elf(elf);
	cr_assert_not_null(cfi);
	for (size_t i = 0; i < rules.n_rows; i += 7) {
		uint32_t offset = RULE_OFFSET(rules.rows[i]), rule = rules.rows[i];
		int64_t expected = rule_by_libdw(cfi, offset); /* its text is mapped one to one */

		cr_assert_eq(rules_find(&rules, offset), rule);
		if (expected < 0 || (RULE_KIND(rule) != RULE_SP && RULE_KIND(rule) != RULE_FP_BASED))
			continue;
		cr_assert_eq(RULE_KIND(rule), RULE_KIND((uint32_t)expected), "at %#x", offset);
		cr_assert_eq(RULE_CFA(rule), RULE_CFA((uint32_t)expected), "at %#x", offset);
		n_equal++;
	}
	cr_assert_gt(n_equal, rules.n_rows / 7 / 2, "only %zu rows could be compared", n_equal);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	rules_deinit(&rules);
	close(fd);
}

Test(rules, what_is_no_elf_has_none)
{
	struct rules rules;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	cr_assert_eq(rules_compile(fd, &rules), 0);
	cr_assert_eq(rules.n_rows, 0);
	cr_assert_eq(rules_find(&rules, 0), RULE(RULE_NONE, 0, 0));
	close(fd);
}
