/* Fuzzes everything between the bytes of an unwind data file and a walked stack.
 *
 * Input: a file as in FORMATS.md section 5, then 16 bytes that seed the registers, then the stack. Without a
 * parsable file all of the input is taken for an .eh_frame section and its own stack.
 */
#include <stdlib.h>
#include <string.h>

#include "module/unwind_data.h"
#include "unwind/module_rules.h"
#include "unwind/walk.h"

#define N_SEED 16

static struct module_rules *rules;

static struct walk_place find(void *context, uint64_t address)
{
	(void)context;
	if (address >> 63)
		return (struct walk_place){0};
	return (struct walk_place){.module = &rules, .rules = rules, .known_code = true};
}

static bool is_outermost(
        void *context, void *module, uint64_t svma, void *callee_module, uint64_t callee_svma)
{
	(void)context;
	(void)module;
	(void)callee_module;
	return svma == callee_svma;
}

static void walk(const struct unwind_arch *arch, uint64_t pc, const uint8_t *bytes, size_t n)
{
	const struct walk_world world = {
	        .arch = arch, .find = find, .is_outermost = is_outermost, .max_depth = 64};
	struct event_stack stack = {.sp = 0x1000, .truncated = n % 2};
	uint64_t seed[N_SEED / 8] = {0};
	struct walk walk = {0};

	memcpy(seed, bytes, n < N_SEED ? n : N_SEED);
	stack.bytes = n < N_SEED ? bytes : bytes + N_SEED;
	stack.n_bytes = n < N_SEED ? 0 : n - N_SEED;
	stack.fp_chain = seed;
	stack.n_fp_chain = N_SEED / 8;
	for (unsigned i = 0; i < EVENT_N_REGS; i++)
		stack.regs[i] = seed[i % 2] >> i;
	stack.regs[arch->sp] = 0x1000;
	stack.regs[arch->pc] = pc;
	if (walk_stack(&world, &stack, &walk) == 0 && walk.n_frames > 64)
		abort();
	walk_deinit(&walk);
}

static void run(const char *arch_name, const uint8_t *eh_frame, size_t n_eh_frame, uint64_t svma,
        const uint8_t *rest, size_t n_rest)
{
	const struct unwind_arch *arch = unwind_arch_find(arch_name);
	uint64_t at;

	if (module_rules_new(arch, eh_frame, n_eh_frame, svma, &rules) < 0)
		return;
	/* Every description of a small section, at a few addresses. */
	for (size_t i = 0; i < 16 && module_rules_nth(rules, i, &at); i++) {
		for (uint64_t j = 0; j < 64; j += 1 + j)
			walk(arch, at + j, rest, n_rest);
	}
	module_rules_free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *arch = size % 3 ? "x86_64" : "aarch64";
	struct unwind_data unwind_data;
	size_t n_file = 0;

	/* The length of the file, so that it is exactly one. */
	if (size >= 4) {
		n_file = (size_t)data[size - 1] << 8 | data[size - 2];
		if (n_file <= size - 2 && unwind_data_parse(data, n_file, &unwind_data) == 0) {
			run(arch, unwind_data.eh_frame, unwind_data.n_eh_frame, unwind_data.eh_frame_start,
			        data + n_file, size - 2 - n_file);
			return 0;
		}
	}
	run(arch, data, size, 0x2000, data, size);
	return 0;
}
