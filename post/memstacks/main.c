/* main.c: memstacks. */
#include <signal.h>

#include "memstacks/commands.h"
#include "memstacks/options.h"
#include "memstacks/progress.h"

int main(int argc, char **argv)
{
	struct options options;
	int status;

	if (options_parse(argc, argv, &options, &status)) {
		progress_catch_signals();
		status = command_run(&options);
	}
	options_deinit(&options);
	if (progress_signal()) {
		/* Everything is cleaned up: end as the signal would have ended it. */
		signal(progress_signal(), SIG_DFL);
		raise(progress_signal());
	}
	return status;
}
