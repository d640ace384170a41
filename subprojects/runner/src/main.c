/* main.c: the program `runner`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/options.h"
#include "plugin/loader.h"
#include "process/caller.h"
#include "process/command.h"
#include "process/environment.h"
#include "run.h"
#include "status.h"
#include "term/console.h"
#include "util/cleanup.h"

/* 0: there may be such a command, else the exit status. */
static int check_command(const char *file, struct console *console)
{
	int error = command_check(file);

	if (error == -ENOENT)
		console_error(console, "command not found: %s", file);
	else if (error < 0)
		console_error(console, "cannot execute %s: it is no executable file", file);
	return error == 0 ? 0 : error == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

static int print_text(const struct options *options, const struct runner_plugin *api, struct console *console)
{
	int error = options->help ? help_print(api) : help_print_version(api);

	if (error < 0)
		console_error(console, "cannot write to standard output: %s", strerror(-error));
	return error < 0 ? STATUS_RUNNER : EXIT_SUCCESS;
}

/* The part of main that may fail at any point. Returns the exit status. */
static int serve(
        char **argv, const struct caller *caller, struct environment *environment, struct console *console)
{
	struct options options CLEANUP(options_deinit) = {0};
	const struct runner_plugin *api = NULL;
	struct options_scan scan;
	int error = 0;
	int status;

	options_scan(&scan, argv);
	if (scan.instrument)
		error = loader_load(scan.instrument, scan.plugin_dir, console, &api);
	/* Whoever asks for help gets it without the instrument, too. */
	if (error == 0 || scan.asks_for_text)
		error = options_init(&options, argv, api, console);
	if (error < 0) {
		console_ensure_error(console, error);
		return STATUS_RUNNER;
	}
	console->quiet = options.quiet;
	console->verbose = options.verbose;
	if (options.help || options.version)
		return print_text(&options, api, console);
	if (!api) {
		console_error(console, "which instrument? --instrument NAME (see --help)");
		return STATUS_RUNNER;
	}
	if (!options.command) {
		console_error(
		        console, "which command? runner --instrument %s -- COMMAND (see --help)", api->name);
		return STATUS_RUNNER;
	}
	console_info(console, "instrument %s %s from %s", api->name, api->version, loader_path(api));
	status = check_command(options.command[0], console);
	return status ? status : run(api, &options, caller, environment, console);
}

int main(int argc __attribute__((unused)), char **argv)
{
	struct console console CLEANUP(console_deinit);
	struct caller caller CLEANUP(caller_deinit) = {0};
	struct environment environment CLEANUP(environment_deinit) = {0};
	int list_error = caller_init(&caller);
	int error = list_error < 0 ? list_error : caller_adapt(&caller);

	console_init(&console, STDERR_FILENO);
	if (error == 0)
		error = environment_init(&environment, argv);
	if (error < 0) {
		console_error(&console, "cannot %s: %s",
		        list_error < 0 ? "list the open descriptors in /proc/self/fd" : "prepare",
		        strerror(-error));
		return STATUS_RUNNER;
	}
	return serve(argv, &caller, &environment, &console);
}
