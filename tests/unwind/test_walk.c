/* Proves how walks go on and end, in a world made for it: what they stitch, and that they invent nothing. */
#include "unwind/walk.h"

#include <criterion/criterion.h>
#include <dwarf.h>
#include <string.h>

#include "cfi_builder.h"
#include "resolve/trampoline.h"
#include "util/cleanup.h"

#define STACK 0x7f0000

/* Functions of the module with rules, at BIAS. */
#define BIAS                0x10000
#define ALLOCATOR           0x1000 /* CFA is rsp + 8 */
#define FRAME_24            0x1100 /* CFA is rsp + 32 */
#define FIRST               0x1200 /* the return address is undefined */
#define BROKEN              0x1300 /* a rule that cannot be evaluated */
#define SIGNAL              0x1400 /* a signal frame: rip, rsp and rbp at rsp + 0, 8 and 16 */
#define CONTEXT             0x1500 /* like FIRST, with nothing before it */
#define RECORD              0x1600 /* CFA is rbp + 16 */
#define IN_MODULE(function) (BIAS + (function))

/* Code without rules, by its AVMA. */
#define BARE      0x90000 /* a module without unwind data; its last page is a first function */
#define BARE_MAIN 0x90f00
#define GENERATED 0xa0000 /* outside any file, with a name */
#define PYTHON                                                                                               \
	0xa8000 /* the same, a trampoline of Python of 11 bytes, whose call ends before the seventh          \
	         */
#define NOWHERE 0xb0000

static struct cfi_builder builder;
static struct module_rules *rules;
static int module, bare;

static void put_function(size_t cie, uint64_t start, const void *program, size_t n)
{
	cfi_put_fde(&builder, cie, start, 0x80, program, n);
}

static void set_up(void)
{
	const uint8_t encoding = CFI_PCREL_SDATA4;
	const uint8_t frame_24[] = {DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 6, 2};
	const uint8_t first[] = {DW_CFA_undefined, 16};
	const uint8_t record[] = {DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 6, 2};
	const uint8_t broken[] = {DW_CFA_def_cfa_expression, 1, DW_OP_plus};
	const uint8_t signal[] = {DW_CFA_val_expression, 7, 3, DW_OP_breg7, 8, DW_OP_deref, DW_CFA_expression,
	        16, 2, DW_OP_breg7, 0, DW_CFA_expression, 6, 2, DW_OP_breg7, 16};
	size_t cie;

	builder = (struct cfi_builder){.svma = 0x400000};
	cie = cfi_put_cie(&builder, encoding, cfi_usual_program, 5);
	put_function(cie, ALLOCATOR, NULL, 0);
	put_function(cie, FRAME_24, frame_24, sizeof(frame_24));
	put_function(cie, FIRST, first, sizeof(first));
	put_function(cie, BROKEN, broken, sizeof(broken));
	put_function(cie, CONTEXT, NULL, 0);
	put_function(cie, RECORD, record, sizeof(record));
	cie = cfi_put_cie_with(&builder, "zRS", &encoding, 1, cfi_usual_program, 5);
	put_function(cie, SIGNAL, signal, sizeof(signal));
	cr_assert_eq(
	        module_rules_new(unwind_arch_find("x86_64"), builder.bytes, builder.n, builder.svma, &rules),
	        0);
}

static void tear_down(void)
{
	module_rules_free(rules);
}

TestSuite(walk, .init = set_up, .fini = tear_down);

static struct walk_place find(void *context, uint64_t address)
{
	(void)context;
	if (address >= BIAS && address < BIAS + 0x2000)
		return (struct walk_place){
		        .module = &module, .rules = rules, .bias = BIAS, .known_code = true};
	if (address >= BARE && address < BARE + 0x1000)
		return (struct walk_place){.module = &bare, .bias = BARE - 0x1000, .known_code = true};
	if (address >= PYTHON && address < PYTHON + 11)
		return (struct walk_place){.known_code = true,
		        .rule = trampoline_rule(unwind_arch_find("x86_64"),
		                &(struct symbol){.addr = PYTHON, .size = 11, .name = "py::f:/f.py"},
		                address)};
	if (address >= GENERATED && address < GENERATED + 0x1000)
		return (struct walk_place){.known_code = true};
	return (struct walk_place){0};
}

static bool is_outermost(void *context, void *where, uint64_t svma, void *callee, uint64_t callee_svma)
{
	(void)context;
	(void)callee;
	(void)callee_svma;
	return where == &bare && svma >= BARE_MAIN - BARE + 0x1000;
}

struct scene {
	uint64_t words[64];
	size_t n_words;
	uint64_t rbp;
	uint64_t pc;
	uint64_t chain[16];
	size_t n_chain;
	bool truncated;
	size_t max_depth;
};

static struct walk play(const struct scene *scene)
{
	const struct walk_world world = {
	        .arch = unwind_arch_find("x86_64"),
	        .find = find,
	        .is_outermost = is_outermost,
	        .max_depth = scene->max_depth ? scene->max_depth : 100,
	};
	struct event_stack stack = {
	        .sp = STACK,
	        .bytes = (const uint8_t *)scene->words,
	        .n_bytes = scene->n_words * 8,
	        .fp_chain = scene->chain,
	        .n_fp_chain = scene->n_chain,
	        .truncated = scene->truncated,
	};
	struct walk walk = {0};

	stack.regs[6] = scene->rbp;
	stack.regs[EVENT_REG_X86_RSP] = STACK;
	stack.regs[EVENT_REG_X86_RIP] = scene->pc;
	cr_assert_eq(walk_stack(&world, &stack, &walk), 0);
	return walk;
}

/* `addresses` are those that were looked up. */
static void expect(
        const struct scene *scene, enum walk_end end, bool stitched, const uint64_t *addresses, size_t n)
{
	struct walk walk = play(scene);

	cr_expect_eq(walk.end, end, "end %d", (int)walk.end);
	cr_expect_eq(walk.stitched, stitched);
	cr_expect_eq(walk.n_frames, n, "%zu frames", walk.n_frames);
	for (size_t i = 0; i < n && i < walk.n_frames; i++)
		cr_expect_eq(walk.frames[i].address, addresses[i], "frame %zu: %#lx", i,
		        (unsigned long)walk.frames[i].address);
	walk_deinit(&walk);
}

#define EXPECT(scene, end, stitched, ...)                                                                    \
	do {                                                                                                 \
		const uint64_t addresses[] = {__VA_ARGS__};                                                  \
                                                                                                             \
		expect(scene, end, stitched, addresses, N_ELEMENTS(addresses));                              \
	} while (0)

Test(walk, by_rules_to_the_first_frame)
{
	const struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 8,
	        .words = {IN_MODULE(FRAME_24 + 9), 0, 0, 0, IN_MODULE(FIRST + 5)}};
	struct walk walk = play(&scene);

	EXPECT(&scene, WALK_BASE, false, IN_MODULE(ALLOCATOR), IN_MODULE(FRAME_24 + 8), IN_MODULE(FIRST + 4));
	cr_expect_eq(walk.frames[1].svma, FRAME_24 + 8);
	cr_expect_eq(walk.frames[1].module, &module);
	walk_deinit(&walk);
}

/* A call at the very end of a function returns to the first byte of the next one. */
Test(walk, callers_are_looked_up_at_the_call)
{
	const struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 8,
	        .words = {IN_MODULE(FRAME_24 + 0x80), 0, 0, 0, IN_MODULE(FIRST + 5)}};

	EXPECT(&scene, WALK_BASE, false, IN_MODULE(ALLOCATOR), IN_MODULE(FRAME_24 + 0x7f),
	        IN_MODULE(FIRST + 4));
}

/* makecontext has the return address of a context's function on the first byte of another. */
Test(walk, context_ends_at_a_function_that_nothing_called)
{
	const struct scene scene = {
	        .pc = IN_MODULE(ALLOCATOR), .n_words = 8, .words = {IN_MODULE(CONTEXT), 0x1234}};

	EXPECT(&scene, WALK_BASE, false, IN_MODULE(ALLOCATOR), IN_MODULE(CONTEXT));
}

Test(walk, interrupted_frames_are_looked_up_where_they_were)
{
	const struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 16,
	        .words = {IN_MODULE(SIGNAL + 1), IN_MODULE(FRAME_24), STACK + 40, 0, 0, 0, 0, 0,
	                IN_MODULE(FIRST + 5)}};

	EXPECT(&scene, WALK_BASE, false, IN_MODULE(ALLOCATOR), IN_MODULE(SIGNAL + 1), IN_MODULE(FRAME_24),
	        IN_MODULE(FIRST + 4));
}

Test(walk, handler_on_an_alternate_stack)
{
	const struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 16,
	        .words = {IN_MODULE(SIGNAL + 1), IN_MODULE(FRAME_24 + 3), STACK - 0x4000}};

	EXPECT(&scene, WALK_UNREADABLE, false, IN_MODULE(ALLOCATOR), IN_MODULE(SIGNAL + 1),
	        IN_MODULE(FRAME_24 + 3));
}

Test(walk, entry_without_rule)
{
	const struct scene scene = {.pc = BARE + 0x100, .n_words = 8, .words = {IN_MODULE(FIRST + 5)}};

	EXPECT(&scene, WALK_BASE, false, BARE + 0x100, IN_MODULE(FIRST + 4));
}

Test(walk, first_function_by_its_name)
{
	const struct scene scene = {.pc = IN_MODULE(ALLOCATOR), .n_words = 8, .words = {BARE_MAIN + 9}};

	EXPECT(&scene, WALK_BASE, false, IN_MODULE(ALLOCATOR), BARE_MAIN + 8);
}

Test(walk, ends)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR), .n_words = 2, .words = {IN_MODULE(FRAME_24 + 9)}};

	EXPECT(&scene, WALK_UNREADABLE, false, IN_MODULE(ALLOCATOR), IN_MODULE(FRAME_24 + 8));
	scene.truncated = true;
	EXPECT(&scene, WALK_TRUNCATED, false, IN_MODULE(ALLOCATOR), IN_MODULE(FRAME_24 + 8));
	scene.words[0] = BARE + 9;
	EXPECT(&scene, WALK_NO_RULE, false, IN_MODULE(ALLOCATOR), BARE + 8);
	scene.words[0] = NOWHERE;
	EXPECT(&scene, WALK_NO_MODULE, false, IN_MODULE(ALLOCATOR), NOWHERE - 1);
	scene.words[0] = GENERATED + 5;
	EXPECT(&scene, WALK_NO_MODULE, false, IN_MODULE(ALLOCATOR), GENERATED + 4);
	scene.words[0] = IN_MODULE(BROKEN + 9);
	EXPECT(&scene, WALK_BAD_RULE, false, IN_MODULE(ALLOCATOR), IN_MODULE(BROKEN + 8));
	scene.words[0] = 0;
	EXPECT(&scene, WALK_BASE, false, IN_MODULE(ALLOCATOR));
	scene.n_words = 0;
	EXPECT(&scene, WALK_TRUNCATED, false, IN_MODULE(ALLOCATOR));
}

Test(walk, depth_is_capped)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR), .n_words = 64, .max_depth = 10};
	struct walk walk;

	for (size_t i = 0; i < 64; i++)
		scene.words[i] = IN_MODULE(ALLOCATOR + 9);
	walk = play(&scene);
	cr_expect_eq(walk.n_frames, 10);
	cr_expect_eq(walk.end, WALK_DEPTH);
	walk_deinit(&walk);
}

/* Code made at run time keeps a frame record; behind it the rules go on. */
Test(walk, stitched_through_generated_code)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 16,
	        .rbp = STACK + 24,
	        .words = {GENERATED + 5, 0x111, 0x222, 0x333, IN_MODULE(FRAME_24 + 9), 0, 0, 0,
	                IN_MODULE(FIRST + 5)}};

	EXPECT(&scene, WALK_BASE, true, IN_MODULE(ALLOCATOR), GENERATED + 4, IN_MODULE(FRAME_24 + 8),
	        IN_MODULE(FIRST + 4));
	scene.words[0] = BARE + 5;
	EXPECT(&scene, WALK_BASE, true, IN_MODULE(ALLOCATOR), BARE + 4, IN_MODULE(FRAME_24 + 8),
	        IN_MODULE(FIRST + 4));
}

/* rbp that serves another purpose: below, not aligned, outside, or next to something that is no code. */
Test(walk, records_that_are_none)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 16,
	        .words = {GENERATED + 5, 0x111, 0x222, 0x333, NOWHERE, 0, 0x444, IN_MODULE(FIRST + 5)}};
	const uint64_t values[] = {0, STACK - 16, STACK, STACK + 24, STACK + 28, STACK + 49, STACK + 120,
	        UINT64_MAX, UINT64_MAX - 7};

	for (size_t i = 0; i < N_ELEMENTS(values); i++) {
		scene.rbp = values[i];
		EXPECT(&scene, WALK_NO_MODULE, false, IN_MODULE(ALLOCATOR), GENERATED + 4);
	}
}

/* rbp happens to point below a return address, and from there the walk goes wrong: nothing of that is kept.
 */
Test(walk, stitches_that_lead_nowhere_are_taken_back)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 16,
	        .rbp = STACK + 24,
	        .words = {GENERATED + 5, 0x111, 0x222, 0x333, IN_MODULE(FRAME_24 + 9), 0, 0, 0, NOWHERE}};

	EXPECT(&scene, WALK_NO_MODULE, false, IN_MODULE(ALLOCATOR), GENERATED + 4);
	scene.words[8] = BARE + 9;
	EXPECT(&scene, WALK_NO_MODULE, false, IN_MODULE(ALLOCATOR), GENERATED + 4);
	scene.n_words = 7;
	EXPECT(&scene, WALK_NO_MODULE, false, IN_MODULE(ALLOCATOR), GENERATED + 4);
	scene.truncated = true;
	EXPECT(&scene, WALK_TRUNCATED, false, IN_MODULE(ALLOCATOR), GENERATED + 4);
}

/* Far enough by rules, they are kept even where the copy ends before the first frame. */
Test(walk, stitches_that_go_on_are_kept)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 8,
	        .rbp = STACK + 8,
	        .truncated = true,
	        .words = {GENERATED + 5, 0x333, IN_MODULE(ALLOCATOR + 9), IN_MODULE(ALLOCATOR + 9),
	                IN_MODULE(FRAME_24 + 9)}};

	EXPECT(&scene, WALK_TRUNCATED, true, IN_MODULE(ALLOCATOR), GENERATED + 4, IN_MODULE(ALLOCATOR + 8),
	        IN_MODULE(ALLOCATOR + 8), IN_MODULE(FRAME_24 + 8));
}

/* Interpreters make code that nobody names; the records lead through it. */
Test(walk, stitched_through_unnamed_code)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 8,
	        .rbp = STACK + 8,
	        .words = {NOWHERE, STACK + 24, NOWHERE + 0x40, 0x777, IN_MODULE(FIRST + 3)}};

	scene.words[1] = STACK + 24;
	EXPECT(&scene, WALK_BASE, true, IN_MODULE(ALLOCATOR), NOWHERE - 1, NOWHERE + 0x3f,
	        IN_MODULE(FIRST + 2));
	scene.words[4] = NOWHERE + 0x80;
	EXPECT(&scene, WALK_NO_MODULE, false, IN_MODULE(ALLOCATOR), NOWHERE - 1);
}

/* Where the rule says that the caller lies beyond the copy, no record inside it is the caller's. */
Test(walk, records_below_the_caller_are_not_believed)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 4,
	        .rbp = STACK + 8,
	        .truncated = true,
	        .words = {IN_MODULE(FRAME_24 + 9), 0x111, IN_MODULE(FIRST + 5)}};

	EXPECT(&scene, WALK_TRUNCATED, false, IN_MODULE(ALLOCATOR), IN_MODULE(FRAME_24 + 8));
}

/* Code without rules whose frame record lies beyond the copy: a longer copy would have had it. */
Test(walk, record_beyond_the_copy)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 4,
	        .rbp = STACK + 4096,
	        .truncated = true,
	        .words = {GENERATED + 5}};

	EXPECT(&scene, WALK_TRUNCATED, false, IN_MODULE(ALLOCATOR), GENERATED + 4);
	scene.rbp = STACK + 16;
	EXPECT(&scene, WALK_NO_MODULE, false, IN_MODULE(ALLOCATOR), GENERATED + 4);
	scene.rbp = (uint64_t)STACK << 20;
	EXPECT(&scene, WALK_NO_MODULE, false, IN_MODULE(ALLOCATOR), GENERATED + 4);
	scene.rbp = STACK + 4096;
	scene.truncated = false;
	EXPECT(&scene, WALK_NO_MODULE, false, IN_MODULE(ALLOCATOR), GENERATED + 4);
}

/* Nothing lies above: the loader's own code, which has no rules, starts programs. */
Test(walk, top_of_the_stack)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR), .n_words = 1, .words = {BARE + 9}};

	EXPECT(&scene, WALK_BASE, false, IN_MODULE(ALLOCATOR), BARE + 8);
	scene.truncated = true;
	EXPECT(&scene, WALK_NO_RULE, false, IN_MODULE(ALLOCATOR), BARE + 8);
	scene.truncated = false;
	scene.n_words = 2;
	EXPECT(&scene, WALK_NO_RULE, false, IN_MODULE(ALLOCATOR), BARE + 8);
	scene.n_words = 1;
	scene.words[0] = NOWHERE;
	EXPECT(&scene, WALK_NO_MODULE, false, IN_MODULE(ALLOCATOR), NOWHERE - 1);
	scene.n_words = 0;
	scene.pc = BARE;
	EXPECT(&scene, WALK_NO_RULE, false, BARE);
}

/* The kernel's chain may reach beyond the copy, through frames that keep records. */
Test(walk, chain_beyond_the_copy)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 2,
	        .truncated = true,
	        .rbp = STACK + 64,
	        .words = {IN_MODULE(RECORD + 9)},
	        .chain = {IN_MODULE(ALLOCATOR), IN_MODULE(RECORD + 9), BARE + 9, IN_MODULE(RECORD + 9),
	                IN_MODULE(RECORD + 7), IN_MODULE(FIRST + 5)},
	        .n_chain = 6};

	EXPECT(&scene, WALK_BASE, true, IN_MODULE(ALLOCATOR), IN_MODULE(RECORD + 8), BARE + 8,
	        IN_MODULE(RECORD + 8), IN_MODULE(RECORD + 6), IN_MODULE(FIRST + 4));
	scene.chain[5] = IN_MODULE(RECORD + 5);
	EXPECT(&scene, WALK_TRUNCATED, true, IN_MODULE(ALLOCATOR), IN_MODULE(RECORD + 8), BARE + 8,
	        IN_MODULE(RECORD + 8), IN_MODULE(RECORD + 6), IN_MODULE(RECORD + 4));
	scene.n_chain = 5;
	EXPECT(&scene, WALK_TRUNCATED, false, IN_MODULE(ALLOCATOR), IN_MODULE(RECORD + 8));
	scene.max_depth = 2;
	EXPECT(&scene, WALK_DEPTH, false, IN_MODULE(ALLOCATOR), IN_MODULE(RECORD + 8));
}

Test(walk, chain_of_another_stack_is_not_believed)
{
	struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
	        .n_words = 2,
	        .truncated = true,
	        .rbp = STACK + 64,
	        .words = {IN_MODULE(RECORD + 9)},
	        .chain = {IN_MODULE(ALLOCATOR), BARE + 9, IN_MODULE(FIRST + 5)},
	        .n_chain = 3};

	EXPECT(&scene, WALK_TRUNCATED, false, IN_MODULE(ALLOCATOR), IN_MODULE(RECORD + 8));
	scene.chain[1] = IN_MODULE(RECORD + 9);
	scene.chain[2] = NOWHERE;
	EXPECT(&scene, WALK_TRUNCATED, false, IN_MODULE(ALLOCATOR), IN_MODULE(RECORD + 8));
	/* A frame of the stack pointer's keeps no record. */
	scene.words[0] = scene.chain[1] = IN_MODULE(FRAME_24 + 9);
	scene.chain[2] = IN_MODULE(FIRST + 5);
	EXPECT(&scene, WALK_TRUNCATED, false, IN_MODULE(ALLOCATOR), IN_MODULE(FRAME_24 + 8));
}

Test(walk, random_stacks_end, .timeout = 60)
{
	const uint64_t values[] = {0, NOWHERE, BARE + 9, BARE_MAIN, GENERATED + 8, IN_MODULE(ALLOCATOR + 1),
	        IN_MODULE(FRAME_24 + 7), IN_MODULE(BROKEN + 1), IN_MODULE(SIGNAL + 1), IN_MODULE(CONTEXT)};

	srandom(5);
	for (size_t round = 0; round < 100000; round++) {
		struct scene scene = {.pc = IN_MODULE(ALLOCATOR),
		        .n_words = (size_t)random() % 65,
		        .n_chain = (size_t)random() % 17,
		        .truncated = random() % 2,
		        .rbp = STACK + (uint64_t)random() % 600};
		struct walk walk;

		for (size_t i = 0; i < 64; i++)
			scene.words[i] = random() % 3 ? values[(size_t)random() % N_ELEMENTS(values)]
			                              : STACK + (uint64_t)random() % 520;
		for (size_t i = 0; i < 16; i++)
			scene.chain[i] = values[(size_t)random() % N_ELEMENTS(values)];
		walk = play(&scene);
		cr_assert_geq(walk.n_frames, 1);
		cr_assert_leq(walk.n_frames, 100);
		walk_deinit(&walk);
	}
}

/* Two trampolines, between code with rules; the frame pointer leads nowhere. */
Test(walk, leaves_trampolines_of_python)
{
	const struct scene scene = {
	        .words = {PYTHON + 6, 0xdead, IN_MODULE(FRAME_24) + 0x10, 1, 2, 3, PYTHON + 6, 0xdead,
	                IN_MODULE(FIRST) + 0x10},
	        .n_words = 9,
	        .rbp = 0x5555,
	        .pc = IN_MODULE(ALLOCATOR),
	};
	const uint64_t addresses[] = {IN_MODULE(ALLOCATOR), PYTHON + 5, IN_MODULE(FRAME_24) + 0xf, PYTHON + 5,
	        IN_MODULE(FIRST) + 0xf};

	expect(&scene, WALK_BASE, false, addresses, 5);
}

/* Only what has the name, the length and the place of the call of one. */
Test(walk, knows_trampolines_of_python)
{
	const struct unwind_arch *arch = unwind_arch_find("x86_64");
	struct symbol symbol = {.addr = PYTHON, .size = 11, .name = "py::f:/f.py"};

	cr_assert_not_null(trampoline_rule(arch, &symbol, PYTHON + 5));
	cr_expect_null(trampoline_rule(arch, &symbol, PYTHON + 4));
	cr_expect_null(trampoline_rule(arch, &symbol, PYTHON + 6));
	cr_expect_null(trampoline_rule(unwind_arch_find("aarch64"), &symbol, PYTHON + 5));
	symbol.size = 16;
	cr_expect_null(trampoline_rule(arch, &symbol, PYTHON + 5));
	symbol = (struct symbol){.addr = PYTHON, .size = 11, .name = "JS:~f"};
	cr_expect_null(trampoline_rule(arch, &symbol, PYTHON + 5));
}
