/* stand_in.c: a resolver that unwinds nothing: the stack's bytes say which frames it has.
 *
 * The first line is `end stitched stopped_at stopped_module`, the others are frames, innermost first, with
 * fields separated by tabs: function, symbol, file, line, flags (i: inlined, f: may be folded away), module,
 * build id, svma. An empty field is NULL.
 */
#include "resolve/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/string_pool.h"
#include "util/cleanup.h"

struct resolver {
	struct string_pool *texts;
	size_t max_depth;
};

const char *stack_end_text(enum stack_end end)
{
	static const char *const texts[STACK_END_N] = {"reached the first frame",
	        "the copy of the stack ended", "code outside any file", "no unwind data",
	        "memory outside the copy", "no progress", "too deep", "a rule that cannot be evaluated"};

	return texts[end];
}

int resolver_new(int profile_fd, const struct log_sink *log, struct resolver **ret_resolver)
{
	CLEANUP_CLOSE int fd = openat(profile_fd, "memory_metadata.json", O_RDONLY | O_CLOEXEC);
	struct resolver *resolver;

	(void)log;
	if (fd < 0)
		return -errno;
	resolver = calloc(1, sizeof(*resolver));
	if (!resolver || string_pool_new(&resolver->texts) < 0) {
		free(resolver);
		return -ENOMEM;
	}
	resolver->max_depth = 1024;
	*ret_resolver = resolver;
	return 0;
}

void resolver_set_max_depth(struct resolver *resolver, size_t max_depth)
{
	resolver->max_depth = max_depth;
}

static const char *intern(struct resolver *resolver, const char *text)
{
	uint32_t id;

	if (!text || !*text || string_pool_add(resolver->texts, text, &id) < 0)
		return NULL;
	return string_pool_get(resolver->texts, id);
}

static struct frame parse_frame(struct resolver *resolver, char *line)
{
	char *fields[8] = {0};
	struct frame frame = {0};

	for (size_t i = 0; i < N_ELEMENTS(fields) && line; i++)
		fields[i] = strsep(&line, "\t");
	frame.function = intern(resolver, fields[0]);
	frame.symbol = intern(resolver, fields[1]);
	frame.file = intern(resolver, fields[2]);
	frame.line = fields[3] ? (uint32_t)strtoul(fields[3], NULL, 10) : 0;
	frame.inlined = fields[4] && strchr(fields[4], 'i');
	frame.ignored = fields[4] && strchr(fields[4], 'f');
	frame.module = intern(resolver, fields[5]);
	frame.build_id = intern(resolver, fields[6]);
	frame.svma = fields[7] ? strtoull(fields[7], NULL, 16) : 0;
	frame.address = frame.svma;
	return frame;
}

int resolver_resolve(
        struct resolver *resolver, const struct event *definition, struct resolved_stack *ret_stack)
{
	CLEANUP_FREE char *text = strndup((const char *)definition->stack.bytes, definition->stack.n_bytes);
	struct resolved_stack stack = {0};
	char module[128] = "", *at = text, *line;
	unsigned end = 0, stitched = 0;
	unsigned long stopped_at = 0;

	if (!text)
		return -ENOMEM;
	line = strsep(&at, "\n");
	sscanf(line, "%u %u %lx %127s", &end, &stitched, &stopped_at, module);
	stack.end = end < STACK_END_N ? (enum stack_end)end : STACK_END_BAD_RULE;
	stack.stitched = stitched;
	stack.stopped_at = stopped_at;
	stack.stopped_module = intern(resolver, module);
	stack.frames = calloc(resolver->max_depth, sizeof(*stack.frames));
	if (!stack.frames)
		return -ENOMEM;
	while (at && *at && stack.n_frames < resolver->max_depth)
		stack.frames[stack.n_frames++] = parse_frame(resolver, strsep(&at, "\n"));
	*ret_stack = stack;
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
	string_pool_free(resolver->texts);
	free(resolver);
	return NULL;
}
