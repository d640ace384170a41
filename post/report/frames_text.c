/* frames_text.c: the frames of a call path for people. */
#include <inttypes.h>
#include <string.h>

#include "report/rank.h"
#include "report/report.h"
#include "report/short_name.h"
#include "util/cleanup.h"

/* Outermost frames that are shown of a call path that is cut. */
#define N_OUTER 3

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void write_name(const char *name, size_t max_name, enum style style, const struct text_out *text)
{
	CLEANUP_FREE char *shorter = short_name(name, max_name);

	text_put(text, style, shorter ? shorter : name);
}

static void write_frame(const struct profile *profile, uint32_t path, uint32_t index, size_t max_name,
        const struct text_out *text)
{
	uint32_t stack = stacks_path(profile->stacks, path)->stack;
	const struct stack_frame *frame =
	        stacks_frame(profile->stacks, stacks_frames(profile->stacks, stack)[index]);
	const char *module = stacks_module(profile->stacks, frame->key);
	const char *file;
	uint32_t line = 0;

	fputs("        ", text->out);
	write_name(stacks_name(profile->stacks, frame->key), max_name,
	        frame->made_up ? STYLE_DIM : STYLE_PLAIN, text);
	file = rank_path_line(profile, path, index, &line);
	if (file) {
		fputs("  ", text->out);
		text_put(text, STYLE_DIM, file);
		if (line)
			text_printf(text, STYLE_DIM, ":%" PRIu32, line);
	} else if (*module && frame->named && !frame->made_up) {
		fputs("  ", text->out);
		text_put(text, STYLE_DIM, last_component(module));
	}
	if (frame->inlined)
		text_put(text, STYLE_DIM, "  (inlined)");
	fputc('\n', text->out);
}

void report_frames(const struct profile *profile, uint32_t path, const struct report_options *options,
        const struct text_out *text)
{
	uint32_t stack = stacks_path(profile->stacks, path)->stack;
	uint32_t n = stacks_row(profile->stacks, stack)->n_frames, i;
	size_t n_inner = n, max_depth = options->max_depth;

	if (max_depth && n > max_depth)
		n_inner = max_depth > 2 * N_OUTER ? max_depth - N_OUTER : max_depth;
	for (i = 0; i < n; i++) {
		if (i == n_inner) {
			i = n_inner < max_depth ? n - N_OUTER : n;
			text_printf(text, STYLE_DIM, "        … %zu more frames\n", i - n_inner);
			if (i == n)
				break;
		}
		write_frame(profile, path, i, options->max_name, text);
	}
}
