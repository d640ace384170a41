/* Proves that --scrub-stacks leaves only addresses of code and stack in a recording, and all that unwinding
 * needs. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "identity/artifact.h"
#include "identity/paths.h"
#include "identity/programs.h"
#include "identity/secret.h"
#include "support/machine.h"
#include "support/memory.h"
#include "util/cleanup.h"

/* A thread may have that much stack above what was copied: RLIMIT_STACK, as it is by default. */
#define STACK_MORE (8u << 20)

/* What was called before may have left addresses of its own frames, below the stack pointer. */
#define STACK_LESS (128u << 10)

struct range {
	uint32_t pid; /* 0: any */
	uint64_t start;
	uint64_t end;
};

struct world {
	struct range *code;
	size_t n_code;
	struct range *stacks; /* merged where they overlap */
	size_t n_stacks;
	uint64_t n_words; /* looked at */
	uint64_t n_zero;
	uint64_t n_stack;
	uint64_t n_bad;
};

static bool in_ranges(const struct range *ranges, size_t n, uint32_t pid, uint64_t word)
{
	for (size_t i = 0; i < n; i++)
		if ((!ranges[i].pid || ranges[i].pid == pid) && word >= ranges[i].start &&
		        word < ranges[i].end)
			return true;
	return false;
}

static void add_stack(struct world *world, uint32_t pid, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < world->n_stacks; i++) {
		struct range *range = &world->stacks[i];

		if (range->pid != pid || start > range->end || end < range->start)
			continue;
		range->start = start < range->start ? start : range->start;
		range->end = end > range->end ? end : range->end;
		return;
	}
	world->stacks = test_grow(world->stacks, world->n_stacks, sizeof(*world->stacks));
	world->stacks[world->n_stacks++] = (struct range){pid, start, end};
}

/* Code counts for all processes: children inherit it. */
static void learn(void *context, const struct event *event)
{
	const struct event_stack *stack = &event->stack;
	struct world *world = context;

	if (event->type == EVENT_MAPPING) {
		world->code = test_grow(world->code, world->n_code, sizeof(*world->code));
		world->code[world->n_code++] =
		        (struct range){0, event->addr, event->addr + event->mapping.len};
	}
	if (event->type == EVENT_STACK_DEFINITION)
		add_stack(world, event->pid, stack->sp - STACK_LESS,
		        stack->sp + stack->n_bytes + (stack->truncated ? STACK_MORE : 0));
}

/* An address behind the last byte is still one of the stack. */
static bool is_clean(struct world *world, uint32_t pid, uint64_t word)
{
	bool stack = word != 0 && in_ranges(world->stacks, world->n_stacks, pid, word - 1);

	stack |= word != 0 && in_ranges(world->stacks, world->n_stacks, pid, word);
	world->n_words++;
	world->n_zero += word == 0;
	world->n_stack += stack;
	return word == 0 || stack || in_ranges(world->code, world->n_code, pid, word);
}

static void check_word(
        struct world *world, const struct event *event, uint64_t word, const char *where, size_t at)
{
	if (is_clean(world, event->pid, word) || world->n_bad++ > 5)
		return;
	fprintf(stderr, "  %s %zu of a definition at sp %lx: %lx\n", where, at,
	        (unsigned long)event->stack.sp, (unsigned long)word);
}

static void check_definition(void *context, const struct event *event)
{
	const struct event_stack *stack = &event->stack;
	uint64_t word;

	if (event->type != EVENT_STACK_DEFINITION)
		return;
	for (size_t at = 0; at < stack->n_bytes; at += sizeof(word)) {
		size_t n = stack->n_bytes - at < sizeof(word) ? stack->n_bytes - at : sizeof(word);

		word = 0;
		memcpy(&word, stack->bytes + at, n);
		check_word(context, event, word, "byte", at);
	}
	for (size_t i = 0; i < EVENT_N_REGS; i++)
		check_word(context, event, stack->regs[i], "register", i);
	for (size_t i = 0; i < stack->n_fp_chain; i++)
		check_word(context, event, stack->fp_chain[i], "frame pointer chain", i);
}

static void look(const char *folder, struct world *ret_world)
{
	struct world world = {0};

	artifact_each(folder, learn, &world);
	artifact_each(folder, check_definition, &world);
	*ret_world = world;
}

static void world_deinit(struct world *world)
{
	free(world->code);
	free(world->stacks);
}

/* Every capture of the program is looked at. */
static void holds_addresses_only(const struct subject *subject)
{
	char *folder = subject_record(subject, WORDS("--scrub-stacks", "--define-every-stack"));
	struct world world;

	look(folder, &world);
	fprintf(stderr, "%s: %lu words, %lu zero, %lu of the stack, %lu neither\n", subject->name,
	        (unsigned long)world.n_words, (unsigned long)world.n_zero, (unsigned long)world.n_stack,
	        (unsigned long)world.n_bad);
	cr_expect_eq(world.n_bad, 0, "%s: %lu words of data", subject->name, (unsigned long)world.n_bad);
	cr_expect_gt(world.n_words, 100);
	world_deinit(&world);
	subject_remove(folder);
}

/* That what is not scrubbed is found: else the check would accept anything. */
static void holds_data(const struct subject *subject)
{
	char *folder = subject_record(subject, NULL);
	struct world world;

	look(folder, &world);
	cr_expect_gt(world.n_bad, 100);
	world_deinit(&world);
	subject_remove(folder);
}

static void unwinds_the_same(const struct subject *subject)
{
	char *plain = subject_record(subject, NULL),
	     *scrubbed = subject_record(subject, WORDS("--scrub-stacks"));
	struct paths a, b;
	size_t n;

	paths_read(plain, &a);
	paths_read(scrubbed, &b);
	n = paths_n_different(&a, &b);
	fprintf(stderr, "%s: %zu and %zu call paths, %zu different; artifacts of %lu and %lu bytes\n",
	        subject->name, a.n_paths, b.n_paths, n,
	        (unsigned long)artifact_figure(plain, "artifact_bytes"),
	        (unsigned long)artifact_figure(scrubbed, "artifact_bytes"));
	/* The compiler asks for a block more or less from run to run, without any option too. */
	cr_expect_leq(n, strcmp(subject->name, "gcc") == 0 ? a.n_paths / 1000 : 0,
	        "%s: %zu call paths differ", subject->name, n);
	paths_deinit(&a);
	paths_deinit(&b);
	subject_remove(plain);
	subject_remove(scrubbed);
}

#define CLEAN(name)                                                                                          \
	Test(addresses_only, name, .timeout = 240)                                                           \
	{                                                                                                    \
		program_visit(#name, true, holds_addresses_only);                                            \
	}
#define SAME(name)                                                                                           \
	Test(same_paths, name, .timeout = 240)                                                               \
	{                                                                                                    \
		program_visit(#name, true, unwinds_the_same);                                                \
	}

CLEAN(cxx_loop)
CLEAN(threads)
CLEAN(forks)
CLEAN(fibers)
CLEAN(altstack)
CLEAN(sqlite)
CLEAN(perl)
CLEAN(python)

Test(scrub, data_is_noticed, .timeout = 180)
{
	program_visit("sqlite", true, holds_data);
}

/* Those that do the same in every run. */
SAME(cxx_loop)
SAME(cxx_paths)
SAME(threads)
SAME(forks)
SAME(recursion)
SAME(longjmps)
SAME(fibers)
SAME(late_library)
SAME(spawn)
SAME(sqlite)
SAME(perl)
SAME(python)
SAME(git)
SAME(gcc)

static void find_secret(void *context, const struct event *event)
{
	const struct event_stack *stack = &event->stack;
	const uint64_t secret = SECRET_WORD;
	size_t *n = context;

	if (event->type != EVENT_STACK_DEFINITION)
		return;
	n[0] += memmem(stack->bytes, stack->n_bytes, &secret, sizeof(secret)) != NULL;
	for (size_t i = 0; i < EVENT_N_REGS; i++)
		n[1] += stack->regs[i] == secret;
	for (size_t i = 0; i < stack->n_fp_chain; i++)
		n[2] += stack->fp_chain[i] == secret;
}

Test(scrub, secret, .timeout = 180)
{
	const struct subject subject = {.name = "secret", .argv = WORDS("@../identity/secret", "48")};
	size_t plain[3] = {0}, scrubbed[3] = {0};
	const char *reason = machine_why_no_capture();
	char *folder;

	if (reason)
		cr_skip_test("no capture here: %s", reason);
	folder = subject_record(&subject, WORDS("--define-every-stack"));
	artifact_each(folder, find_secret, plain);
	subject_remove(folder);
	folder = subject_record(&subject, WORDS("--define-every-stack", "--scrub-stacks"));
	artifact_each(folder, find_secret, scrubbed);
	subject_remove(folder);
	fprintf(stderr, "secret in bytes, registers, chain: %zu %zu %zu; scrubbed %zu %zu %zu\n", plain[0],
	        plain[1], plain[2], scrubbed[0], scrubbed[1], scrubbed[2]);
	for (unsigned i = 0; i < 3; i++) {
		cr_expect_gt(plain[i], 0, "the fixture does not put it there (%u)", i);
		cr_expect_eq(scrubbed[i], 0, "the secret is in the artifact (%u)", i);
	}
}
