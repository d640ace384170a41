/* folded.c: folded stacks. */
#include "export/export.h"

#include <inttypes.h>
#include <string.h>

#include "util/utf8.h"

/* A name without the characters that mean something in this format: `;` separates frames, a line ends the
 * stack. */
static void put_name(FILE *out, const char *name)
{
	const char *start;
	uint32_t character;
	bool valid;

	while (*name) {
		start = name;
		character = utf8_next(&name, &valid);
		if (!valid)
			fputs("\xef\xbf\xbd", out);
		else if (character == ';')
			putc(':', out);
		else if (utf8_is_control(character))
			putc('?', out);
		else
			fwrite(start, 1, (size_t)(name - start), out);
	}
}

int export_folded(const struct profile *profile, const struct export_options *options, FILE *out)
{
	size_t n = stacks_n_paths(profile->stacks);
	const uint32_t *frames;
	uint32_t path, stack, i;
	uint64_t value;
	int error;

	for (path = 0; path < n; path++) {
		error = export_step(options, "writing", path, n);
		if (error < 0)
			return error;
		value = metric_of(options->metric, &profile->path_tallies[path]);
		if (!value)
			continue;
		stack = stacks_path(profile->stacks, path)->stack;
		frames = stacks_frames(profile->stacks, stack);
		for (i = stacks_row(profile->stacks, stack)->n_frames; i-- > 0;) {
			put_name(out,
			        stacks_name(profile->stacks, stacks_frame(profile->stacks, frames[i])->key));
			putc(i ? ';' : ' ', out);
		}
		fprintf(out, "%" PRIu64 "\n", value);
	}
	return 0;
}
