/* resolver.c: from a stack definition to named frames, with nothing but the profile folder. */
#include "resolve/resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "resolve/metadata.h"
#include "resolve/module.h"
#include "resolve/process.h"
#include "resolve/texts.h"
#include "resolve/trampoline.h"
#include "unwind/walk.h"
#include "util/cleanup.h"

#define DEFAULT_MAX_DEPTH 1024
#define FIRST_SLOTS       64

struct resolver {
	struct texts *texts;
	struct metadata metadata;
	struct module_folder folder;
	struct module *modules; /* in the order of the metadata's */
	struct process **slots; /* open addressing by pid; a power of two, at most half of them used */
	size_t n_slots;
	size_t n_processes;
	size_t max_depth;
	struct walk walk;
};

/* What the callbacks of one walk need. */
struct query {
	struct resolver *resolver;
	struct process *process;
	uint64_t time;
	int error; /* -ENOMEM once memory has run out */
};

const char *stack_end_text(enum stack_end end)
{
	static const char *const texts[STACK_END_N] = {
	        [STACK_END_BASE] = "reached the first frame",
	        [STACK_END_TRUNCATED] = "the copy of the stack ends",
	        [STACK_END_NO_MODULE] = "code in no known file",
	        [STACK_END_NO_UNWIND] = "no unwind rule for the code",
	        [STACK_END_UNREADABLE] = "the rule wants memory outside the copy",
	        [STACK_END_NO_PROGRESS] = "the stack pointer does not grow",
	        [STACK_END_DEPTH] = "too many frames",
	        [STACK_END_BAD_RULE] = "the unwind rule cannot be evaluated",
	};

	return (unsigned)end < STACK_END_N ? texts[end] : "unknown";
}

static void cleanup_resolver(struct resolver **resolver)
{
	resolver_free(*resolver);
}

static int load_metadata(struct resolver *resolver)
{
	int r = metadata_read(resolver->folder.fd, resolver->texts, &resolver->metadata);

	if (r < 0) {
		log_error(resolver->folder.log, "cannot use memory_metadata.json: %s", strerror(-r));
		return r;
	}
	if (resolver->metadata.n_bad > 0)
		log_warning(resolver->folder.log, "%llu entries of memory_metadata.json make no sense",
		        (unsigned long long)resolver->metadata.n_bad);
	resolver->folder.arch = unwind_arch_find(resolver->metadata.arch);
	if (!resolver->folder.arch) {
		log_error(resolver->folder.log, "cannot unwind stacks of the architecture %s",
		        resolver->metadata.arch);
		return -EOPNOTSUPP;
	}
	return 0;
}

int resolver_new(int profile_fd, const struct log_sink *log, struct resolver **ret_resolver)
{
	CLEANUP(cleanup_resolver) struct resolver *resolver = calloc(1, sizeof(*resolver));
	int r;

	if (!resolver)
		return -ENOMEM;
	resolver->max_depth = DEFAULT_MAX_DEPTH;
	r = texts_new(&resolver->texts);
	if (r < 0)
		return r;
	resolver->folder = (struct module_folder){.fd = profile_fd, .texts = resolver->texts, .log = log};
	r = load_metadata(resolver);
	if (r < 0)
		return r;
	resolver->modules = calloc(resolver->metadata.n_modules + 1, sizeof(resolver->modules[0]));
	resolver->slots = calloc(FIRST_SLOTS, sizeof(resolver->slots[0]));
	if (!resolver->modules || !resolver->slots)
		return -ENOMEM;
	resolver->n_slots = FIRST_SLOTS;
	for (size_t i = 0; i < resolver->metadata.n_modules; i++)
		module_init(&resolver->modules[i], &resolver->folder, &resolver->metadata.modules[i]);
	*ret_resolver = STEAL_PTR(resolver);
	return 0;
}

void resolver_set_max_depth(struct resolver *resolver, size_t max_depth)
{
	resolver->max_depth = max_depth;
}

static struct process **find_slot(struct process **slots, size_t n_slots, uint32_t pid)
{
	size_t i = (pid * UINT32_C(0x9e3779b1)) >> 8 & (n_slots - 1);

	while (slots[i] && slots[i]->pid != pid)
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

static int grow_slots(struct resolver *resolver)
{
	size_t n_slots = resolver->n_slots * 2;
	struct process **slots = calloc(n_slots, sizeof(slots[0]));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < resolver->n_slots; i++) {
		if (resolver->slots[i])
			*find_slot(slots, n_slots, resolver->slots[i]->pid) = resolver->slots[i];
	}
	free(resolver->slots);
	resolver->slots = slots;
	resolver->n_slots = n_slots;
	return 0;
}

static int get_process(struct resolver *resolver, uint32_t pid, struct process **ret_process)
{
	struct process **slot = find_slot(resolver->slots, resolver->n_slots, pid);

	if (!*slot && resolver->n_processes >= resolver->n_slots / 2) {
		if (grow_slots(resolver) < 0)
			return -ENOMEM;
		slot = find_slot(resolver->slots, resolver->n_slots, pid);
	}
	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (!*slot)
			return -ENOMEM;
		(*slot)->pid = pid;
		resolver->n_processes++;
	}
	*ret_process = *slot;
	return 0;
}

int resolver_end_image(struct resolver *resolver, uint32_t pid, uint64_t timestamp)
{
	struct process *process;
	int r = get_process(resolver, pid, &process);

	return r == 0 ? process_end_image(process, timestamp) : r;
}

static int compare_pids(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = ((const struct metadata_process *)b)->pid;

	return left < right ? -1 : left > right;
}

static int prepare_process(struct resolver *resolver, struct process *process)
{
	const struct metadata *metadata = &resolver->metadata;
	const struct metadata_process *info = NULL;

	if (metadata->n_processes > 0)
		info = bsearch(&process->pid, metadata->processes, metadata->n_processes, sizeof(*info),
		        compare_pids);
	return process_prepare(process, &resolver->folder, info, resolver->modules);
}

static struct walk_place find_generated(const struct query *query, uint64_t address)
{
	const struct symbol *symbol = symbols_find(&query->process->generated, address);

	if (!symbol)
		return (struct walk_place){0};
	return (struct walk_place){
	        .rule = trampoline_rule(query->resolver->folder.arch, symbol, address),
	        .known_code = true,
	};
}

static struct walk_place find_place(void *context, uint64_t address)
{
	struct query *query = context;
	const struct process_placement *placement = NULL;
	int r = process_find(query->process, address, query->time, &placement);

	if (r == 0 && placement)
		r = module_need_unwind(placement->module);
	if (r < 0) {
		query->error = r;
		return (struct walk_place){0};
	}
	if (!placement)
		return find_generated(query, address);
	return (struct walk_place){
	        .module = placement->module,
	        .rules = placement->module->rules,
	        .bias = placement->bias,
	        .known_code = true,
	};
}

static bool is_named(struct query *query, void *module, uint64_t svma, const char *const *symbols)
{
	const struct module_name *names;
	size_t n_names;
	int r = module_names(module, svma, &names, &n_names);

	if (r < 0)
		query->error = r;
	else if (names[n_names - 1].symbol) {
		for (; *symbols; symbols++) {
			if (strcmp(names[n_names - 1].symbol, *symbols) == 0)
				return true;
		}
	}
	return false;
}

/* C libraries without unwind data, such as musl: what the kernel enters, what a new thread starts in, and
 * whatever called main. */
static bool is_outermost(
        void *context, void *module, uint64_t svma, void *callee_module, uint64_t callee_svma)
{
	static const char *const first[] = {"_start", "_start_c", "_dlstart", "_dl_start_user",
	        "__libc_start_main", "libc_start_main_stage2", "__clone", "clone", "__clone3", "clone3",
	        NULL};
	static const char *const called_by_first[] = {"main", NULL};

	return is_named(context, module, svma, first) ||
	       (callee_module && is_named(context, callee_module, callee_svma, called_by_first));
}

static enum stack_end end_of_walk(enum walk_end end)
{
	static const enum stack_end ends[] = {
	        [WALK_BASE] = STACK_END_BASE,
	        [WALK_TRUNCATED] = STACK_END_TRUNCATED,
	        [WALK_NO_MODULE] = STACK_END_NO_MODULE,
	        [WALK_NO_RULE] = STACK_END_NO_UNWIND,
	        [WALK_UNREADABLE] = STACK_END_UNREADABLE,
	        [WALK_NO_PROGRESS] = STACK_END_NO_PROGRESS,
	        [WALK_DEPTH] = STACK_END_DEPTH,
	        [WALK_BAD_RULE] = STACK_END_BAD_RULE,
	};

	return ends[end];
}

/* The names of one frame of the walk. In code made at run time there is one name or none. */
static int names_of(const struct query *query, const struct walk_frame *frame, struct module_name *generated,
        const struct module_name **ret_names, size_t *ret_n_names)
{
	const struct symbol *symbol;

	if (frame->module)
		return module_names(frame->module, frame->svma, ret_names, ret_n_names);
	*generated = (struct module_name){0};
	*ret_names = generated;
	*ret_n_names = 1;
	symbol = symbols_find(&query->process->generated, frame->address);
	if (!symbol)
		return 0;
	return texts_add(query->resolver->texts, symbol->name, strlen(symbol->name), &generated->symbol);
}

static void add_frame(const struct query *query, const struct walk_frame *walked,
        const struct module_name *name, struct frame *ret_frame)
{
	const struct module *module = walked->module;

	*ret_frame = (struct frame){
	        .function = name->function ? name->function : name->symbol,
	        .symbol = name->symbol,
	        .file = name->file,
	        .line = name->line,
	        .inlined = name->inlined,
	        .ignored = process_ignores(query->process, walked->address),
	        .module = module ? (module->info->path ? module->info->path : module->info->key) : NULL,
	        .build_id = module ? module->info->build_id : NULL,
	        .address = walked->address,
	        .svma = walked->svma,
	        .function_svma = module ? name->start : walked->svma,
	};
}

/* Two passes over the walk: how many frames there are with the inlined ones, then their names. */
static int name_frames(const struct query *query, struct resolved_stack *stack)
{
	const struct walk *walk = &query->resolver->walk;
	const struct module_name *names;
	struct module_name generated;
	size_t n_names, n = 0;
	int r;

	for (size_t i = 0; i < walk->n_frames; i++, n += n_names) {
		r = names_of(query, &walk->frames[i], &generated, &names, &n_names);
		if (r < 0)
			return r;
	}
	stack->frames = calloc(n + 1, sizeof(stack->frames[0]));
	if (!stack->frames)
		return -ENOMEM;
	for (size_t i = 0; i < walk->n_frames; i++) {
		r = names_of(query, &walk->frames[i], &generated, &names, &n_names);
		if (r < 0)
			return r;
		for (size_t j = 0; j < n_names; j++)
			add_frame(query, &walk->frames[i], &names[j], &stack->frames[stack->n_frames++]);
	}
	return 0;
}

int resolver_resolve(
        struct resolver *resolver, const struct event *definition, struct resolved_stack *ret_stack)
{
	CLEANUP(resolved_stack_deinit) struct resolved_stack stack = {0};
	struct query query = {.resolver = resolver, .time = definition->timestamp};
	const struct walk_world world = {
	        .arch = resolver->folder.arch,
	        .find = find_place,
	        .is_outermost = is_outermost,
	        .context = &query,
	        .max_depth = resolver->max_depth,
	};
	int r = get_process(resolver, definition->pid, &query.process);

	if (r == 0)
		r = prepare_process(resolver, query.process);
	if (r == 0)
		r = walk_stack(&world, &definition->stack, &resolver->walk);
	if (r == 0)
		r = query.error;
	if (r == 0)
		r = name_frames(&query, &stack);
	if (r < 0)
		return r;
	stack.end = end_of_walk(resolver->walk.end);
	stack.stitched = resolver->walk.stitched;
	if (stack.n_frames > 0) {
		stack.stopped_at = stack.frames[stack.n_frames - 1].address;
		stack.stopped_module = stack.frames[stack.n_frames - 1].module;
	}
	*ret_stack = stack;
	stack = (struct resolved_stack){0};
	return 0;
}

void resolved_stack_deinit(struct resolved_stack *stack)
{
	free(stack->frames);
	*stack = (struct resolved_stack){0};
}

struct resolver *resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return NULL;
	for (size_t i = 0; i < resolver->n_slots && resolver->slots; i++) {
		if (resolver->slots[i])
			process_deinit(resolver->slots[i]);
		free(resolver->slots[i]);
	}
	free(resolver->slots);
	for (size_t i = 0; i < resolver->metadata.n_modules && resolver->modules; i++)
		module_deinit(&resolver->modules[i]);
	free(resolver->modules);
	walk_deinit(&resolver->walk);
	metadata_deinit(&resolver->metadata);
	texts_free(resolver->texts);
	free(resolver);
	return NULL;
}
