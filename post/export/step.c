/* step.c: progress of the exporters. */
#include "export/export.h"

#define ITEMS_PER_STEP 256

int export_step(const struct export_options *options, const char *what, size_t done, size_t all)
{
	if (!options->progress || done % ITEMS_PER_STEP)
		return 0;
	return options->progress(
	        options->progress_context, what, all ? (unsigned)((double)done * 1000 / (double)all) : 0);
}
