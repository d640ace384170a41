/* walk.c: from a stack definition to the code addresses of its frames. */
#include "unwind/walk.h"

#include <errno.h>
#include <stdlib.h>

#include "unwind/registers.h"
#include "unwind/step.h"
#include "util/grow.h"

struct walker {
	const struct walk_world *world;
	const struct event_stack *stack;
	struct unwind_memory memory;
	struct unwind_registers registers;
	bool exact;       /* the PC is where the frame was interrupted, not behind a call */
	bool in_chain;    /* the frame is the last matched entry of the kernel's chain */
	size_t n_matched; /* entries of the kernel's chain that have been met, in order */
	struct walk *walk;
};

/* The place and the rule of the frame that the registers describe. */
struct look {
	struct walk_place place;
	uint64_t address;
	const struct rule *rule;
	int state;         /* enum module_rule_state */
	bool never_called; /* the PC is a function's first byte, where no call returns to */
};

static int add_frame(struct walk *walk, const struct walk_place *place, uint64_t address)
{
	int r = GROW_BY_ONE(walk->frames, walk->n_allocated, walk->n_frames);

	if (r < 0)
		return r;
	walk->frames[walk->n_frames++] = (struct walk_frame){
	        .address = address,
	        .svma = address - place->bias,
	        .module = place->module,
	};
	return 0;
}

static int look_at(const struct walker *walker, uint64_t address, struct look *ret_look)
{
	struct look look = {.address = address, .state = MODULE_RULE_NONE};

	look.place = walker->world->find(walker->world->context, address);
	if (look.place.rules)
		look.state = module_rules_find(look.place.rules, address - look.place.bias, &look.rule);
	if (look.state < 0)
		return look.state;
	*ret_look = look;
	return 0;
}

static bool is_undefined(const struct rule *rule, unsigned reg)
{
	for (size_t i = 0; i < rule->n_registers; i++) {
		if (rule->registers[i].reg == reg)
			return rule->registers[i].value.kind == RULE_UNDEFINED;
	}
	return false;
}

/* A caller is looked up one byte before its return address, which belongs to the call. Where nothing is known
 * of that byte and the address is a function's first one, nothing has called from there: makecontext puts
 * such addresses on new stacks, and kernels those of signal trampolines. */
static int look_at_frame(const struct walker *walker, struct look *ret_look)
{
	uint64_t pc = walker->registers.values[walker->world->arch->pc];
	uint64_t start;
	struct look at;
	int r;

	if (walker->exact)
		return look_at(walker, pc, ret_look);
	r = look_at(walker, pc - 1, ret_look);
	if (r < 0 || ret_look->state != MODULE_RULE_NONE)
		return r;
	r = look_at(walker, pc, &at);
	if (r < 0 || at.state != MODULE_RULE_FOUND ||
	        !module_rules_function(at.place.rules, pc - at.place.bias, &start) ||
	        start != pc - at.place.bias)
		return r;
	at.never_called = !at.rule->signal_frame;
	*ret_look = at;
	return 0;
}

/* Nothing called the function, whose frame is the last one added. */
static bool is_first(const struct walker *walker, const struct look *look)
{
	const struct walk_world *world = walker->world;
	const struct walk *walk = walker->walk;
	const struct walk_frame *callee = walk->n_frames > 1 ? &walk->frames[walk->n_frames - 2] : NULL;

	if (look->state == MODULE_RULE_FOUND)
		return look->never_called || is_undefined(look->rule, look->rule->return_address);
	return look->place.module &&
	       world->is_outermost(world->context, look->place.module, look->address - look->place.bias,
	               callee ? callee->module : NULL, callee ? callee->svma : 0);
}

static enum walk_end end_of_step(const struct walker *walker, enum step_state state)
{
	switch (state) {
	case STEP_DONE:
	case STEP_BASE:
		return WALK_BASE;
	case STEP_BAD_RULE:
		return WALK_BAD_RULE;
	case STEP_NO_PROGRESS:
		return WALK_NO_PROGRESS;
	case STEP_OTHER_STACK:
		return WALK_UNREADABLE;
	case STEP_UNREADABLE:
		break;
	}
	return walker->stack->truncated ? WALK_TRUNCATED : WALK_UNREADABLE;
}

/* What the walk ends with where there is no rule and nothing else leads on. */
static enum walk_end end_without_rule(const struct walker *walker, const struct look *look)
{
	if (look->state == MODULE_RULE_BAD)
		return WALK_BAD_RULE;
	if (is_first(walker, look))
		return WALK_BASE;
	return look->place.module ? WALK_NO_RULE : WALK_NO_MODULE;
}

/* Goes on by the frame record that the frame pointer leads to. It must lie above and hold a return address in
 * known code, so that a register that serves another purpose leads nowhere. */
static bool follow_record(struct walker *walker)
{
	const struct walk_world *world = walker->world;
	struct unwind_registers caller = walker->registers;

	if (step_by_frame_pointer(world->arch, &walker->memory, &caller) != STEP_DONE)
		return false;
	if (!world->find(world->context, caller.values[world->arch->pc] - 1).known_code)
		return false;
	walker->registers = caller;
	walker->walk->stitched = true;
	return true;
}

/* Adds what the frame-pointer chain of the kernel has above the frame the walk has come to: only if that
 * frame is in the chain and so are, in order, all the chain's frames before it. Ends the walk. */
static int follow_chain(struct walker *walker)
{
	const struct walk_world *world = walker->world;
	const struct event_stack *stack = walker->stack;
	struct look look;
	int r;

	if (!walker->in_chain)
		return 0;
	for (size_t i = walker->n_matched; i < stack->n_fp_chain; i++) {
		uint64_t pc = stack->fp_chain[i] & world->arch->address_mask;

		if (walker->walk->n_frames >= world->max_depth) {
			walker->walk->end = WALK_DEPTH;
			return 0;
		}
		r = look_at(walker, pc - 1, &look);
		if (r < 0)
			return r;
		if (!look.place.known_code)
			return 0;
		r = add_frame(walker->walk, &look.place, look.address);
		if (r < 0)
			return r;
		walker->walk->stitched = true;
		if (is_first(walker, &look)) {
			walker->walk->end = WALK_BASE;
			return 0;
		}
	}
	return 0;
}

/* Leaves the frame by its rule, or by what else can be known; walk->end says why where that fails. */
static enum step_state leave_frame(struct walker *walker, const struct look *look)
{
	const struct unwind_arch *arch = walker->world->arch;
	struct walk *walk = walker->walk;
	enum step_state state;

	if (look->never_called) {
		walk->end = WALK_BASE;
		return STEP_BASE;
	}
	if (look->state == MODULE_RULE_FOUND) {
		state = step_by_rule(arch, look->rule, &walker->memory, &walker->registers);
		walk->end = end_of_step(walker, state);
		walker->exact = look->rule->signal_frame;
		if (state != STEP_UNREADABLE && state != STEP_BAD_RULE)
			return state;
	} else {
		walk->end = end_without_rule(walker, look);
		if (walk->end == WALK_BASE)
			return STEP_BASE;
		state = STEP_BAD_RULE;
	}
	/* A stack is taken at the first instructions of an allocator's function. */
	if (look->state != MODULE_RULE_FOUND && walk->n_frames == 1)
		state = step_at_entry(arch, &walker->memory, &walker->registers);
	else if (follow_record(walker))
		state = STEP_DONE;
	walker->exact = false;
	return state;
}

/* Keeps track of how far the frames agree with the kernel's chain. */
static void match_chain(struct walker *walker)
{
	const struct event_stack *stack = walker->stack;
	const struct unwind_arch *arch = walker->world->arch;
	uint64_t pc = walker->registers.values[arch->pc];

	walker->in_chain = walker->n_matched < stack->n_fp_chain &&
	                   (stack->fp_chain[walker->n_matched] & arch->address_mask) == pc;
	if (walker->in_chain)
		walker->n_matched++;
}

static int walk_frames(struct walker *walker)
{
	enum step_state state = STEP_DONE;
	struct walk *walk = walker->walk;
	struct look look;
	int r;

	while (state == STEP_DONE || state == STEP_OTHER_STACK) {
		if (walk->n_frames >= walker->world->max_depth) {
			walk->end = WALK_DEPTH;
			return 0;
		}
		match_chain(walker);
		r = look_at_frame(walker, &look);
		if (r < 0)
			return r;
		r = add_frame(walk, &look.place, look.address);
		if (r < 0)
			return r;
		/* The copy has nothing of the stack that the interrupted frame is on. */
		if (state == STEP_OTHER_STACK)
			return 0;
		state = leave_frame(walker, &look);
	}
	return state == STEP_BASE ? 0 : follow_chain(walker);
}

int walk_stack(const struct walk_world *world, const struct event_stack *stack, struct walk *walk)
{
	struct walker walker = {
	        .world = world,
	        .stack = stack,
	        .memory = {.start = stack->sp, .bytes = stack->bytes, .n_bytes = stack->n_bytes},
	        .exact = true,
	        .walk = walk,
	};

	walk->n_frames = 0;
	walk->stitched = false;
	walk->end = WALK_UNREADABLE;
	for (unsigned i = 0; i < world->arch->n_registers; i++)
		unwind_register_set(&walker.registers, i, stack->regs[i]);
	walker.registers.values[world->arch->sp] = stack->sp;
	return walk_frames(&walker);
}

void walk_deinit(struct walk *walk)
{
	free(walk->frames);
	*walk = (struct walk){0};
}
