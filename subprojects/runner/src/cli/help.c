/* help.c: what --help and --version print. */
#include "cli/help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "status.h"
#include "util/cleanup.h"

#define N_COLUMNS 80
#define N_INDENT  30

/* Breaks `text` at blanks, with every line but the first indented. */
static void print_wrapped(const char *text)
{
	size_t column = N_INDENT;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (column > N_INDENT && column + 1 + length > N_COLUMNS) {
			printf("\n%*s", N_INDENT, "");
			column = N_INDENT;
		} else if (column > N_INDENT) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)length, text);
		column += length;
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_option(const struct runner_option *option)
{
	const char *letter = !strcmp(option->name, "help")      ? "-h, "
	                     : !strcmp(option->name, "quiet")   ? "-q, "
	                     : !strcmp(option->name, "verbose") ? "-v, "
	                                                        : "    ";
	int n_written = printf("  %s--%s%s%s", letter, option->name, option->argument ? "=" : "",
	        option->argument ? option->argument : "");

	if (n_written < N_INDENT - 1)
		printf("%*s", N_INDENT - n_written, "");
	else
		printf("\n%*s", N_INDENT, "");
	print_wrapped(option->help);
}

static void print_options(const struct runner_plugin *api)
{
	puts("\nOptions:");
	for (size_t i = 0; i < n_host_options; i++)
		print_option(&host_options[i]);
	if (!api) {
		puts("\nThe options of an instrument are shown by: runner --instrument NAME --help");
		return;
	}
	printf("\nOptions of the instrument %s (%s):\n", api->name, api->summary);
	for (uint32_t i = 0; i < api->n_options; i++)
		print_option(&api->options[i]);
}

static void print_examples(const struct runner_plugin *api)
{
	const char *name = api ? api->name : "memory";

	printf("\nExamples:\n"
	       "  runner --instrument %s -- ./my_benchmark --size 1000\n"
	       "  sudo runner --instrument %s --profile-folder=out -- python3 bench.py\n"
	       "      (the benchmark runs as the user who called sudo, and the profile is theirs)\n"
	       "  RUNNER_INSTRUMENT=%s RUNNER_QUIET=1 runner -- make bench\n",
	        name, name, name);
}

static void print_statuses(void)
{
	printf("\nExit status:\n"
	       "  that of COMMAND when it failed, or 128 + the number of the signal that ended it; else\n"
	       "    0  all is well\n"
	       "  %d  events were lost: the profile is not complete (--allow-loss: 0)\n"
	       "  %d  a program or library was not traced\n"
	       "  %d  a gate failed\n"
	       "  %d  no benchmark ran\n"
	       "  %d  the runner itself failed, or was called wrongly\n"
	       "  %d  COMMAND cannot be executed\n"
	       "  %d  COMMAND was not found\n",
	        STATUS_LOST, STATUS_NOT_TRACED, STATUS_GATE, STATUS_NO_BENCHMARK, STATUS_RUNNER,
	        STATUS_NOT_EXECUTABLE, STATUS_NOT_FOUND);
}

static void print_environment(void)
{
	puts("\nEnvironment:\n"
	     "  RUNNER_<OPTION>     the same as --<option>, for every option but --help and --version:\n"
	     "                      RUNNER_PROFILE_FOLDER=out, RUNNER_VERBOSE=2; switches take 1, true,\n"
	     "                      yes or 0, false, no; the command line wins\n"
	     "  RUNNER_PLUGIN_PATH  more directories with instruments, separated by ':'\n"
	     "  TMPDIR              where a new profile folder is made (default: /tmp)\n"
	     "  NO_COLOR            when not empty: no colours\n"
	     "\n"
	     "COMMAND gets arguments, environment, descriptors, limits and signals as the caller set them.\n"
	     "SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGALRM are passed on to it; once\n"
	     "it has ended, a second request to end cuts the finishing of the profile short.\n"
	     "All messages go to standard error.");
}

/* Output that is lost (a full disk) must not look like success. */
static int finish(void)
{
	if (fflush(stdout) == EOF || ferror(stdout))
		return errno ? -errno : -EIO;
	return 0;
}

int help_print(const struct runner_plugin *api)
{
	puts("Usage: runner --instrument NAME [OPTION]... -- COMMAND [ARGUMENT]...\n"
	     "Run COMMAND, measure it and all processes it starts, and leave a profile folder.");
	print_options(api);
	print_examples(api);
	print_statuses();
	print_environment();
	return finish();
}

int help_print_version(const struct runner_plugin *api)
{
	printf("runner %s (plugin ABI %u)\n", RUNNER_VERSION, RUNNER_ABI_MAJOR);
	if (api)
		printf("%s %s\n", api->name, api->version);
	return finish();
}
