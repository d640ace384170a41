/* witness.c: resolved stacks beside gdb's view of the same stacks. */
#include "witness.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "artifact/reader.h"
#include "util/cleanup.h"

static void print_message(void *context, unsigned level, const char *text)
{
	(void)context;
	cr_expect_gt(level, LOG_LEVEL_WARNING, "%s", text);
}

void witness_resolve_all(int folder_fd, const struct samples *samples,
        void (*check)(
                void *context, size_t n, const struct resolved_stack *stack, const struct sample *sample),
        void *context)
{
	CLEANUP_CLOSE int fd = openat(folder_fd, "results/" SAMPLES_ARTIFACT, O_RDONLY | O_CLOEXEC);
	const struct log_sink sink = {.write = print_message};
	struct artifact_reader *reader;
	struct resolver *resolver;
	struct event event;
	size_t n = 0;

	cr_assert_geq(fd, 0);
	cr_assert_eq(artifact_reader_new(fd, &reader), 0);
	cr_assert_eq(resolver_new(folder_fd, &sink, &resolver), 0);
	while (artifact_reader_next(reader, &event) == ARTIFACT_EVENT) {
		struct resolved_stack stack;

		if (event.type != EVENT_STACK_DEFINITION)
			continue;
		cr_assert(event.stack.hash >= 1 && event.stack.hash <= samples->n_samples);
		cr_assert_eq(resolver_resolve(resolver, &event, &stack), 0);
		check(context, event.stack.hash - 1, &stack, &samples->samples[event.stack.hash - 1]);
		resolved_stack_deinit(&stack);
		n++;
	}
	cr_assert_eq(n, samples->n_samples);
	resolver_free(resolver);
	artifact_reader_free(reader);
}

/* gdb gives return addresses, the resolver the calls before them. */
static bool is_same(const struct frame *frame, uint64_t pc)
{
	return frame->address == pc || frame->address + 1 == pc;
}

bool witness_agrees(const struct resolved_stack *stack, const struct sample *sample, bool whole)
{
	size_t n = 0;

	for (size_t i = 0; i < stack->n_frames && n < sample->n_frames; i++) {
		if (stack->frames[i].inlined)
			continue;
		if (!is_same(&stack->frames[i], sample->pcs[n++]))
			return false;
	}
	if (!whole)
		return true;
	for (size_t i = 0; i < stack->n_frames; i++)
		n -= !stack->frames[i].inlined;
	return n == 0 && (sample->n_frames <= stack->n_frames);
}

char *witness_describe(const struct resolved_stack *stack, const struct sample *sample)
{
	char *text = NULL;
	size_t size, n = 0;
	FILE *out = open_memstream(&text, &size);

	cr_assert_not_null(out);
	fprintf(out, "%s%s at %s\n", stack_end_text(stack->end), stack->stitched ? ", stitched" : "",
	        stack->stopped_module ? stack->stopped_module : "no module");
	for (size_t i = 0; i < stack->n_frames; i++) {
		const struct frame *frame = &stack->frames[i];

		fprintf(out, "  %016" PRIx64 " %-40s", frame->address,
		        frame->function ? frame->function : "?");
		if (!frame->inlined && n < sample->n_frames) {
			fprintf(out, " | %016" PRIx64 " %s", sample->pcs[n], sample->names[n]);
			n++;
		}
		fprintf(out, "\n");
	}
	for (; n < sample->n_frames; n++)
		fprintf(out, "  %58s| %016" PRIx64 " %s\n", "", sample->pcs[n], sample->names[n]);
	fclose(out);
	return text;
}
