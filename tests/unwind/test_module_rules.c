/* Proves that rules are those of the section: every row of real libraries against readelf's own
 * interpretation, and expressions of all kinds in sections written by hand. */
#include "unwind/module_rules.h"

#include <criterion/criterion.h>
#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi_builder.h"
#include "util/cleanup.h"

#define MAX_COLUMNS 24

/* The columns of readelf --debug-dump=frames-interp. */
static const char *const register_names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
        "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ra"};

struct table {
	size_t n_columns;
	unsigned columns[MAX_COLUMNS]; /* registers */
	size_t n_rows;
	size_t n_values;
	size_t n_expressions;
};

static unsigned register_of(const char *name)
{
	for (unsigned i = 0; i < N_ELEMENTS(register_names); i++) {
		if (strcmp(name, register_names[i]) == 0)
			return i;
	}
	cr_assert_fail("unknown register %s", name);
	return 0;
}

static void read_columns(char *line, struct table *table)
{
	char *save, *word = strtok_r(line, " \n", &save);

	table->n_columns = 0;
	cr_assert_str_eq(word, "LOC");
	cr_assert_str_eq(strtok_r(NULL, " \n", &save), "CFA");
	while ((word = strtok_r(NULL, " \n", &save)) != NULL && table->n_columns < MAX_COLUMNS)
		table->columns[table->n_columns++] = register_of(word);
}

static void expect_cfa(uint64_t loc, const char *text, const struct rule *rule, struct table *table)
{
	char expected[64];

	if (rule->cfa.kind == RULE_IS_EXPRESSION) {
		cr_assert_str_eq(text, "exp", "%#" PRIx64, loc);
		table->n_expressions++;
		return;
	}
	snprintf(expected, sizeof(expected), "%s%+" PRId64, register_names[rule->cfa.reg], rule->cfa.offset);
	cr_assert_str_eq(text, expected, "%#" PRIx64, loc);
}

static const struct rule_value *value_of(const struct rule *rule, unsigned reg)
{
	for (size_t i = 0; i < rule->n_registers; i++) {
		if (rule->registers[i].reg == reg)
			return &rule->registers[i].value;
	}
	return NULL;
}

/* readelf writes u both for what is unspecified and for what is undefined. */
static void expect_value(
        uint64_t loc, unsigned reg, const char *text, const struct rule *rule, struct table *table)
{
	const struct rule_value *value = value_of(rule, reg);
	char expected[64] = "u";

	if (value && value->kind == RULE_AT_CFA)
		snprintf(expected, sizeof(expected), "c%+" PRId64, value->offset);
	else if (value && value->kind == RULE_IS_CFA)
		snprintf(expected, sizeof(expected), reg == 7 ? "u" : "v%+" PRId64, value->offset);
	else if (value && value->kind == RULE_IS_REGISTER)
		snprintf(expected, sizeof(expected), "r%u", value->reg);
	else if (value && value->kind == RULE_AT_EXPRESSION)
		snprintf(expected, sizeof(expected), "exp");
	else if (value && value->kind == RULE_IS_EXPRESSION)
		snprintf(expected, sizeof(expected), "vexp");
	if (strcmp(text, "s") != 0 || value)
		cr_assert_str_eq(text, expected, "%#" PRIx64 " %s", loc, register_names[reg]);
	table->n_values++;
}

static void read_row(char *line, struct module_rules *rules, struct table *table)
{
	char *save, *end, *word = strtok_r(line, " \n", &save);
	uint64_t loc = strtoull(word, &end, 16);
	const struct rule *rule;

	cr_assert_eq(*end, '\0');
	cr_assert_eq(module_rules_find(rules, loc, &rule), MODULE_RULE_FOUND, "%#" PRIx64, loc);
	expect_cfa(loc, strtok_r(NULL, " \n", &save), rule, table);
	for (size_t i = 0; i < table->n_columns; i++) {
		/* A register has its name behind it, in brackets. */
		do {
			word = strtok_r(NULL, " \n", &save);
		} while (word && word[0] == '(');
		cr_assert_not_null(word);
		expect_value(loc, table->columns[i], word, rule, table);
	}
	table->n_rows++;
}

/* Rows of CIEs have no place; FDEs follow a line with pc=. */
static void compare_with_readelf(const char *path, struct module_rules *rules, struct table *table)
{
	CLEANUP_FREE char *line = NULL;
	bool in_fde = false, in_rows = false;
	char command[512];
	size_t n_line = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "LC_ALL=C readelf -W --debug-dump=frames-interp '%s' 2>/dev/null",
	        path);
	pipe = popen(command, "r");
	cr_assert_not_null(pipe);
	while (getline(&line, &n_line, pipe) > 0) {
		if (strstr(line, " FDE ")) {
			in_fde = true;
			in_rows = false;
		} else if (line[0] == '\n' || strstr(line, " CIE ")) {
			in_fde = false;
		} else if (in_fde && strncmp(line, "   LOC", 6) == 0) {
			read_columns(line, table);
			in_rows = true;
		} else if (in_fde && in_rows) {
			read_row(line, rules, table);
		}
	}
	/* readelf also fails where it does not find separate debug files; the caller counts the rows. */
	pclose(pipe);
}

/* The section as the file has it. */
static uint8_t *read_section(const char *path, uint64_t *ret_svma, size_t *ret_size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *bytes = NULL;
	Elf_Scn *section = NULL;
	size_t names;
	Elf *elf;

	cr_assert(fd >= 0, "%s", path);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	cr_assert_eq(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;

		cr_assert_not_null(gelf_getshdr(section, &header));
		if (strcmp(elf_strptr(elf, names, header.sh_name), ".eh_frame") != 0)
			continue;
		bytes = malloc(header.sh_size);
		cr_assert_eq(
		        pread(fd, bytes, header.sh_size, (off_t)header.sh_offset), (ssize_t)header.sh_size);
		*ret_svma = header.sh_addr;
		*ret_size = header.sh_size;
	}
	elf_end(elf);
	return bytes;
}

static void expect_equal(const char *path, size_t min_rows, size_t min_expressions)
{
	struct module_rules *rules;
	struct table table = {0};
	uint64_t svma;
	size_t size;
	CLEANUP_FREE uint8_t *section = read_section(path, &svma, &size);

	cr_assert_not_null(section, "%s has no .eh_frame", path);
	cr_assert_eq(module_rules_new(unwind_arch_find("x86_64"), section, size, svma, &rules), 0);
	cr_assert_eq(module_rules_n_bad(rules), 0, "%s: %lu", path, (unsigned long)module_rules_n_bad(rules));
	compare_with_readelf(path, rules, &table);
	cr_log_info("%s: %zu rows, %zu values, %zu expressions", path, table.n_rows, table.n_values,
	        table.n_expressions);
	cr_expect_geq(table.n_rows, min_rows, "%s: %zu", path, table.n_rows);
	cr_expect_geq(table.n_expressions, min_expressions, "%s: %zu", path, table.n_expressions);
	module_rules_free(rules);
}

/* Realigned frames, the signal frame and the PLT are where the expressions are. */
Test(module_rules, every_row_of_real_libraries, .timeout = 120)
{
	char self[4096] = "";

	expect_equal("/lib/x86_64-linux-gnu/libc.so.6", 10000, 2);
	expect_equal("/lib64/ld-linux-x86-64.so.2", 1000, 1);
	expect_equal("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 10000, 1);
	cr_assert_gt(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
	expect_equal(self, 100, 1);
}

static struct cfi_builder builder;

static const struct rule *rule_of(struct module_rules **ret_rules, const uint8_t *program, size_t n_program)
{
	const struct rule *rule = NULL;
	size_t cie;

	builder = (struct cfi_builder){.svma = 0x400000};
	cie = cfi_put_cie(&builder, CFI_PCREL_SDATA4, cfi_usual_program, 5);
	cfi_put_fde(&builder, cie, 0x1000, 0x20, program, n_program);
	cr_assert_eq(module_rules_new(
	                     unwind_arch_find("x86_64"), builder.bytes, builder.n, builder.svma, ret_rules),
	        0);
	return module_rules_find(*ret_rules, 0x1010, &rule) == MODULE_RULE_FOUND ? rule : NULL;
}

#define RULE_OF(rules, ...)                                                                                  \
	rule_of(rules, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

Test(module_rules, kinds)
{
	struct module_rules *rules;
	const struct rule *rule;

	rule = RULE_OF(&rules, DW_CFA_nop);
	cr_assert_not_null(rule);
	cr_expect_eq(rule->cfa.kind, RULE_IS_REGISTER);
	cr_expect_eq(rule->cfa.reg, 7);
	cr_expect_eq(rule->cfa.offset, 8);
	cr_expect_eq(rule->return_address, 16);
	cr_expect_eq(value_of(rule, 16)->kind, RULE_AT_CFA);
	cr_expect_eq(value_of(rule, 16)->offset, -8);
	cr_expect_null(value_of(rule, 3), "callee-saved registers keep their value");
	cr_expect_not(rule->signal_frame);
	module_rules_free(rules);

	rule = RULE_OF(&rules, DW_CFA_register, 3, 12, DW_CFA_undefined, 16, DW_CFA_val_offset, 12, 2);
	cr_assert_not_null(rule);
	cr_expect_eq(value_of(rule, 3)->kind, RULE_IS_REGISTER);
	cr_expect_eq(value_of(rule, 3)->reg, 12);
	cr_expect_eq(value_of(rule, 16)->kind, RULE_UNDEFINED);
	cr_expect_eq(value_of(rule, 12)->kind, RULE_IS_CFA);
	cr_expect_eq(value_of(rule, 12)->offset, -16);
	module_rules_free(rules);

	rule = RULE_OF(&rules, DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref,
	        DW_CFA_expression, 6, 2, DW_OP_breg6, 0, DW_CFA_val_expression, 7, 2, DW_OP_breg7, 8);
	cr_assert_not_null(rule);
	cr_expect_eq(rule->cfa.kind, RULE_IS_EXPRESSION);
	cr_expect_eq(rule->cfa.n_ops, 2);
	cr_expect_eq(value_of(rule, 6)->kind, RULE_AT_EXPRESSION);
	cr_expect_eq(value_of(rule, 7)->kind, RULE_IS_EXPRESSION);
	module_rules_free(rules);
}

Test(module_rules, states)
{
	struct module_rules *rules;
	const struct rule *rule = NULL;

	cr_expect_null(
	        RULE_OF(&rules, DW_CFA_undefined, 0xff, 0xff, 0xff, 0xff, 7), "a register of 2 GiB of table");
	cr_expect_eq(module_rules_find(rules, 0x1010, &rule), MODULE_RULE_BAD);
	cr_expect_eq(module_rules_find(rules, 0x1010, &rule), MODULE_RULE_BAD, "from the cache");
	cr_expect_eq(module_rules_find(rules, 0xfff, &rule), MODULE_RULE_NONE);
	cr_expect_null(rule);
	module_rules_free(rules);
	cr_assert_eq(module_rules_new(unwind_arch_find("x86_64"), NULL, 0, 0, &rules), 0);
	cr_expect_eq(module_rules_find(rules, 0, &rule), MODULE_RULE_NONE);
	module_rules_free(rules);
}

Test(module_rules, the_cache_keeps_them_apart)
{
	struct module_rules *rules;
	const struct rule *rule, *again;
	size_t cie;

	builder = (struct cfi_builder){.svma = 0x400000};
	cie = cfi_put_cie(&builder, CFI_PCREL_SDATA4, cfi_usual_program, 5);
	for (uint8_t i = 0; i < 100; i++) {
		const uint8_t program[] = {DW_CFA_def_cfa_offset, i};

		cfi_put_fde(&builder, cie, 0x1000 + 0x100 * i, 0x80, program, 2);
	}
	cr_assert_eq(
	        module_rules_new(unwind_arch_find("x86_64"), builder.bytes, builder.n, builder.svma, &rules),
	        0);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 100; i++) {
			for (unsigned j = 0; j < 0x80; j += 7) {
				cr_assert_eq(module_rules_find(rules, 0x1000 + 0x100 * i + j, &rule),
				        MODULE_RULE_FOUND);
				cr_assert_eq(rule->cfa.offset, i);
			}
			cr_assert_eq(module_rules_find(rules, 0x1080 + 0x100 * i, &rule), MODULE_RULE_NONE);
		}
	}
	cr_assert_eq(module_rules_find(rules, 0x1007, &rule), MODULE_RULE_FOUND);
	cr_assert_eq(module_rules_find(rules, 0x1007, &again), MODULE_RULE_FOUND);
	cr_assert_eq(rule, again);
	module_rules_free(rules);
}
