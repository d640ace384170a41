/* options.h: the command line and its twins in the environment.
 *
 * Every option NAME is also read from RUNNER_NAME (upper case, '-' as '_'); the command line wins, the last
 * one of a name wins, an empty variable counts as none. The two that only print, --help and --version, have
 * no twin. Switches take 1/0, true/false, yes/no there, and after '=' on the command line.
 */
#ifndef RUNNER_CLI_OPTIONS_H
#define RUNNER_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner_plugin.h"
#include "term/console.h"

/* The host's own options, in the order of --help. */
extern const struct runner_option host_options[];
extern const size_t n_host_options;

/* What must be known before the instrument, which has options too, can be loaded. */
struct options_scan {
	const char *instrument; /* NULL: none named */
	const char *plugin_dir; /* NULL: none named */
	bool asks_for_text;     /* --help or --version */
};

/* When something is recorded. */
enum scope {
	SCOPE_AUTO,       /* always, until an integration announces itself: then as SCOPE_BENCHMARKS */
	SCOPE_BENCHMARKS, /* while an integration says that a benchmark runs */
	SCOPE_PROCESS,    /* always */
};

struct options {
	const char *profile_folder; /* NULL: a new one in TMPDIR */
	bool quiet;
	bool allow_loss;
	bool allow_empty;
	bool no_integrations;
	enum scope scope;
	bool help;
	bool version;
	unsigned verbose;
	char **command;                  /* what follows "--", NULL-terminated; NULL: nothing does */
	struct runner_setting *settings; /* of the instrument; the strings are argv's and the environment's */
	uint32_t n_settings;
};

/* Strings of the results belong to argv and the environment. */
void options_scan(struct options_scan *ret_scan, char **argv);

/* api: the instrument, or NULL when there is none to ask. -EINVAL: not a valid command line, which is said in
 * one line. The order of argv's elements stays. */
int options_init(
        struct options *ret_options, char **argv, const struct runner_plugin *api, struct console *console);
void options_deinit(struct options *options);

/* The variable that is the twin of an option; the caller frees it. NULL: out of memory. */
char *options_variable(const char *name);

#endif
