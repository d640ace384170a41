/* walk.c: from a stack definition to the code addresses of its frames. */
#include "unwind/walk.h"

#include <errno.h>
#include <stdlib.h>

#include "unwind/registers.h"
#include "unwind/step.h"
#include "util/grow.h"

/* Frames after a stitch that speak for it: that many registers which happen to lead to a return address in a
 * row have not been seen. */
#define ENOUGH_EVIDENCE 3

/* bytes; whatever lies further away is no stack */
#define LARGEST_STACK (UINT64_C(1) << 30)

/* Frames found without a rule are provisional until the walk comes to the first frame or has gone on for a
 * while. */
struct stitch {
	bool is_open;
	size_t n_frames; /* the walk as it was before */
	enum walk_end end;
	bool was_stitched;
	unsigned n_evidence;
};

struct walker {
	const struct walk_world *world;
	const struct event_stack *stack;
	struct unwind_memory memory;
	struct unwind_registers registers;
	bool exact;       /* the PC is where the frame was interrupted, not behind a call */
	bool in_chain;    /* the frame is the last matched entry of the kernel's chain */
	size_t n_matched; /* entries of the kernel's chain that have been met, in order */
	struct stitch stitch;
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
	if (look.state == MODULE_RULE_NONE && look.place.rule) {
		look.state = MODULE_RULE_FOUND;
		look.rule = look.place.rule;
	}
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
	if (r < 0)
		return r;
	/* Trampolines are described from one byte before their start, for the sake of unwinders that look
	 * there. */
	if (ret_look->state == MODULE_RULE_FOUND && ret_look->rule->signal_frame)
		ret_look->address = pc;
	if (ret_look->state != MODULE_RULE_NONE)
		return 0;
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

/* Above the frame there is no room for a return address, so nothing called it. */
static bool is_at_top(const struct walker *walker)
{
	uint64_t top = walker->memory.start + walker->memory.n_bytes;

	return walker->walk->n_frames > 1 && !walker->stack->truncated &&
	       top - walker->registers.values[walker->world->arch->sp] < 8;
}

/* What the walk ends with where there is no rule and nothing else leads on. */
static enum walk_end end_without_rule(const struct walker *walker, const struct look *look)
{
	if (look->state == MODULE_RULE_BAD)
		return WALK_BAD_RULE;
	if (is_first(walker, look) || (look->place.module && is_at_top(walker)))
		return WALK_BASE;
	return look->place.module ? WALK_NO_RULE : WALK_NO_MODULE;
}

/* The code may keep a frame record: it has one by its rule, or it has no rule that says otherwise. */
static bool may_keep_record(const struct walker *walker, const struct look *look)
{
	if (look->state != MODULE_RULE_FOUND)
		return look->state == MODULE_RULE_NONE;
	return look->rule->cfa.kind == RULE_IS_REGISTER && look->rule->cfa.reg == walker->world->arch->fp;
}

/* What follows is only believed later. */
static void open_stitch(struct walker *walker)
{
	struct stitch *stitch = &walker->stitch;

	if (stitch->is_open && stitch->n_evidence >= ENOUGH_EVIDENCE)
		stitch->is_open = false;
	if (!stitch->is_open) {
		stitch->is_open = true;
		stitch->n_frames = walker->walk->n_frames;
		stitch->end = walker->walk->end;
		stitch->was_stitched = walker->walk->stitched;
		stitch->n_evidence = 0;
	}
	walker->walk->stitched = true;
}

/* Takes back what was not proved. */
static void close_stitch(struct walker *walker)
{
	const struct stitch *stitch = &walker->stitch;
	struct walk *walk = walker->walk;

	if (!stitch->is_open || stitch->n_evidence >= ENOUGH_EVIDENCE || walk->end == WALK_BASE)
		return;
	walk->n_frames = stitch->n_frames;
	/* A longer copy might have brought the proof. */
	if (walk->end != WALK_TRUNCATED)
		walk->end = stitch->end;
	walk->stitched = stitch->was_stitched;
}

/* Goes on by the frame record that the frame pointer leads to, which must lie above. */
static enum step_state follow_record(struct walker *walker)
{
	const struct unwind_arch *arch = walker->world->arch;
	uint64_t top = walker->memory.start + walker->memory.n_bytes;
	enum step_state state = step_by_frame_pointer(arch, &walker->memory, &walker->registers);

	if (state == STEP_DONE)
		open_stitch(walker);
	else if (state == STEP_UNREADABLE && walker->stack->truncated &&
	         walker->registers.values[arch->fp] + 16 - top < LARGEST_STACK)
		walker->walk->end = WALK_TRUNCATED; /* it points to where the stack goes on */
	return state == STEP_DONE ? STEP_DONE : STEP_NO_PROGRESS;
}

static int add_and_weigh(struct walker *walker, const struct look *look)
{
	/* Code at which somebody may well stand: it is described, or known by name. */
	if (look->state == MODULE_RULE_FOUND || (look->place.known_code && !look->place.module))
		walker->stitch.n_evidence++;
	return add_frame(walker->walk, &look->place, look->address);
}

/* Adds what the frame-pointer chain of the kernel has above the frame the walk has come to: only if that
 * frame is in the chain and so are, in order, all the chain's frames before it, and only through code that
 * may keep frame records. Ends the walk. */
static int follow_chain(struct walker *walker, struct look look)
{
	const struct walk_world *world = walker->world;
	const struct event_stack *stack = walker->stack;
	int r;

	if (!walker->in_chain)
		return 0;
	for (size_t i = walker->n_matched; i < stack->n_fp_chain && may_keep_record(walker, &look); i++) {
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
		open_stitch(walker);
		r = add_and_weigh(walker, &look);
		if (r < 0)
			return r;
		if (is_first(walker, &look)) {
			walker->walk->end = WALK_BASE;
			return 0;
		}
	}
	return 0;
}

/* The way out of code without rules: a stack is taken at the first instructions of an allocator's function;
 * anything else may keep frame records. */
static enum step_state leave_without_rule(struct walker *walker, const struct look *look)
{
	enum step_state state;

	walker->exact = false;
	walker->walk->end = end_without_rule(walker, look);
	if (walker->walk->end == WALK_BASE)
		return STEP_BASE;
	if (look->state == MODULE_RULE_BAD)
		return STEP_BAD_RULE;
	if (walker->walk->n_frames > 1)
		return follow_record(walker);
	state = step_at_entry(walker->world->arch, &walker->memory, &walker->registers);
	if (state == STEP_BASE)
		walker->walk->end = WALK_BASE;
	return state;
}

/* Moves to the caller; walk->end says why where that fails. */
static enum step_state leave_frame(struct walker *walker, const struct look *look)
{
	enum step_state state;

	if (look->never_called) {
		walker->walk->end = WALK_BASE;
		return STEP_BASE;
	}
	if (look->state != MODULE_RULE_FOUND)
		return leave_without_rule(walker, look);
	state = step_by_rule(walker->world->arch, look->rule, &walker->memory, &walker->registers);
	walker->exact = look->rule->signal_frame;
	walker->walk->end = end_of_step(walker, state);
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
		r = add_and_weigh(walker, &look);
		if (r < 0)
			return r;
		/* The copy has nothing of the stack that the interrupted frame is on. */
		if (state == STEP_OTHER_STACK)
			return 0;
		state = leave_frame(walker, &look);
	}
	return state == STEP_BASE || state == STEP_BAD_RULE ? 0 : follow_chain(walker, look);
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
	int r;

	walk->n_frames = 0;
	walk->stitched = false;
	walk->end = WALK_UNREADABLE;
	for (unsigned i = 0; i < world->arch->n_registers; i++)
		unwind_register_set(&walker.registers, i, stack->regs[i]);
	walker.registers.values[world->arch->sp] = stack->sp;
	r = walk_frames(&walker);
	close_stitch(&walker);
	return r;
}

void walk_deinit(struct walk *walk)
{
	free(walk->frames);
	*walk = (struct walk){0};
}
