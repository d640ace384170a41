/* options.c: the command line and its twins in the environment. */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/text.h"

enum host_option {
	OPTION_INSTRUMENT,
	OPTION_PLUGIN_DIR,
	OPTION_PROFILE_FOLDER,
	OPTION_QUIET,
	OPTION_VERBOSE,
	OPTION_ALLOW_LOSS,
	OPTION_ALLOW_EMPTY,
	OPTION_SCOPE,
	OPTION_NO_INTEGRATIONS,
	OPTION_HELP,
	OPTION_VERSION,
	N_HOST_OPTIONS,
};

const struct runner_option host_options[] = {
        [OPTION_INSTRUMENT] = {"instrument", "NAME", "measure with runner-NAME.so"},
        [OPTION_PLUGIN_DIR] = {"plugin-dir", "DIR", "look for the instrument here first"},
        [OPTION_PROFILE_FOLDER] = {"profile-folder", "DIR",
                "leave the profile here: a new or empty directory (default: a new profile.XXXXXXXXXX.out in "
                "TMPDIR)"},
        [OPTION_QUIET] = {"quiet", NULL, "no live line and no summary, only warnings and errors"},
        [OPTION_VERBOSE] = {"verbose", NULL, "say what is done; twice: in detail"},
        [OPTION_ALLOW_LOSS] = {"allow-loss", NULL, "lost events do not change the exit status"},
        [OPTION_ALLOW_EMPTY] = {"allow-empty", NULL,
                "a run without a single benchmark, where benchmarks were to be expected, is no error"},
        [OPTION_SCOPE] = {"scope", "auto|benchmarks|process",
                "when to record: all the time (process), only while an integration says that a benchmark runs "
                "(benchmarks), or all the time unless an integration announces itself (auto, the default)"},
        [OPTION_NO_INTEGRATIONS] = {"no-integrations", NULL,
                "do not listen to integrations, nor set variables that switch them on: any number of such runs "
                "may go on at a time"},
        [OPTION_HELP] = {"help", NULL, "show this text, with the options of the instrument"},
        [OPTION_VERSION] = {"version", NULL, "show the version"},
};
const size_t n_host_options = N_HOST_OPTIONS;

#define VERBOSE_MAX 9

/* All options with their values while they are collected. */
struct parser {
	struct console *console;
	size_t n_options;
	const struct runner_option **options; /* the host's, then the instrument's */
	const char **values;                  /* NULL: not given */
	char **sources;                       /* who gave the value, for messages */
	struct option *table;                 /* for getopt_long */
	unsigned n_verbose;                   /* how often --verbose was given */
};

char *options_variable(const char *name)
{
	char *variable;

	if (asprintf(&variable, "RUNNER_%s", name) < 0)
		return NULL;
	for (char *at = variable; *at; at++)
		*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
	return variable;
}

static const char *non_empty(const char *value)
{
	return value && *value ? value : NULL;
}

/* The value when `argument` (with `next` behind it) is this option, else NULL. */
static const char *scan_value(const char *argument, const char *next, enum host_option option)
{
	const char *name = host_options[option].name;
	size_t length = strlen(name);

	if (strncmp(argument, "--", 2) || strncmp(argument + 2, name, length))
		return NULL;
	if (argument[2 + length] == '=')
		return argument + 2 + length + 1;
	return argument[2 + length] ? NULL : next;
}

void options_scan(struct options_scan *ret_scan, char **argv)
{
	struct options_scan scan = {
	        .instrument = non_empty(getenv("RUNNER_INSTRUMENT")),
	        .plugin_dir = non_empty(getenv("RUNNER_PLUGIN_DIR")),
	};

	for (char **at = argv + 1; argv[0] && *at && strcmp(*at, "--"); at++) {
		scan.instrument = scan_value(*at, at[1], OPTION_INSTRUMENT) ?: scan.instrument;
		scan.plugin_dir = scan_value(*at, at[1], OPTION_PLUGIN_DIR) ?: scan.plugin_dir;
		if (!strcmp(*at, "--help") || !strcmp(*at, "-h") || !strcmp(*at, "--version"))
			scan.asks_for_text = true;
	}
	*ret_scan = scan;
}

static void parser_deinit(struct parser *parser)
{
	for (size_t i = 0; parser->sources && i < parser->n_options; i++)
		free(parser->sources[i]);
	free(parser->options);
	free(parser->values);
	free(parser->sources);
	free(parser->table);
}

static int parser_init(struct parser *ret_parser, const struct runner_plugin *api, struct console *console)
{
	size_t n_options = n_host_options + (api ? api->n_options : 0);
	struct parser parser CLEANUP(parser_deinit) = {
	        .console = console,
	        .n_options = n_options,
	        .options = calloc(n_options, sizeof(*parser.options)),
	        .values = calloc(n_options, sizeof(*parser.values)),
	        .sources = calloc(n_options, sizeof(*parser.sources)),
	        .table = calloc(n_options + 1, sizeof(*parser.table)),
	};

	if (!parser.options || !parser.values || !parser.sources || !parser.table)
		return -ENOMEM;
	for (size_t i = 0; i < n_options; i++) {
		const struct runner_option *option =
		        i < n_host_options ? &host_options[i] : &api->options[i - n_host_options];

		for (size_t k = 0; k < i; k++)
			if (!strcmp(option->name, parser.options[k]->name)) {
				console_error(console, "the instrument %s has two options --%s", api->name,
				        option->name);
				return -EINVAL;
			}
		parser.options[i] = option;
		parser.table[i] = (struct option){.name = option->name,
		        .has_arg = option->argument ? required_argument : optional_argument};
	}
	*ret_parser = parser;
	parser = (struct parser){0};
	return 0;
}

/* `source` is the parser's from here on, and may be NULL for lack of memory. */
static int set_value(struct parser *parser, size_t i, const char *value, char *source)
{
	free(parser->sources[i]);
	parser->sources[i] = source;
	parser->values[i] = value;
	return source ? 0 : -ENOMEM;
}

static int read_environment(struct parser *parser)
{
	for (size_t i = 0; i < parser->n_options; i++) {
		char *variable CLEANUP_FREE = NULL;
		const char *value;
		int error;

		if (i == OPTION_HELP || i == OPTION_VERSION)
			continue;
		variable = options_variable(parser->options[i]->name);
		if (!variable)
			return -ENOMEM;
		value = non_empty(getenv(variable));
		error = value ? set_value(parser, i, value, STEAL_PTR(variable)) : 0;
		if (error < 0)
			return error;
	}
	return 0;
}

/* The name as it was meant to be given, without a value: values may be secret, or long. */
static int refuse(struct parser *parser, const char *what, const char *argument)
{
	console_error(parser->console, "%s '%.*s' (--help lists the options)", what,
	        (int)(strncmp(argument, "--", 2) ? strlen(argument) : strcspn(argument, "=")), argument);
	return -EINVAL;
}

static int take_option(struct parser *parser, size_t i, const char *value)
{
	char *source;

	if (i == OPTION_VERBOSE)
		parser->n_verbose = value ? 0 : parser->n_verbose + 1;
	if (asprintf(&source, "--%s", parser->options[i]->name) < 0)
		source = NULL;
	return set_value(parser, i, value ? value : "1", source);
}

static size_t short_option(int letter)
{
	return letter == 'h' ? OPTION_HELP : letter == 'q' ? OPTION_QUIET : OPTION_VERBOSE;
}

/* `argv` up to n_arguments: without the "--" and what follows. */
static int read_arguments(struct parser *parser, int n_arguments, char **argv)
{
	optind = 0;
	for (;;) {
		int index = -1;
		int before = optind ? optind : 1;
		int letter = getopt_long(n_arguments, argv, "+:hqv", parser->table, &index);
		int error;

		if (letter == -1)
			break;
		if (letter == ':')
			return refuse(parser, "an argument is missing after", argv[optind - 1]);
		if (letter == '?')
			return refuse(parser, "there is no option", argv[before]);
		error = take_option(parser, index >= 0 ? (size_t)index : short_option(letter), optarg);
		if (error < 0)
			return error;
	}
	if (optind < n_arguments)
		return refuse(parser, "the command must follow '--', which is not before", argv[optind]);
	return 0;
}

/* Makes the values of switches "1" or NULL. */
static int read_switches(struct parser *parser)
{
	for (size_t i = 0; i < parser->n_options; i++) {
		bool on;

		if (parser->options[i]->argument || !parser->values[i] || i == OPTION_VERBOSE)
			continue;
		if (text_parse_bool(parser->values[i], &on) < 0) {
			console_error(parser->console, "%s takes 1, true, yes or 0, false, no, not '%s'",
			        parser->sources[i], parser->values[i]);
			return -EINVAL;
		}
		parser->values[i] = on ? "1" : NULL;
	}
	return 0;
}

static int read_verbose(struct parser *parser, unsigned *ret_verbose)
{
	const char *value = parser->values[OPTION_VERBOSE];
	uint64_t number;
	bool on;

	if (!value || parser->n_verbose) {
		*ret_verbose = parser->n_verbose;
	} else if (text_parse_number(value, VERBOSE_MAX, &number) == 0) {
		*ret_verbose = (unsigned)number;
	} else if (text_parse_bool(value, &on) == 0) {
		*ret_verbose = on;
	} else {
		console_error(parser->console, "%s takes a number from 0 to %d, not '%s'",
		        parser->sources[OPTION_VERBOSE], VERBOSE_MAX, value);
		return -EINVAL;
	}
	return 0;
}

static int read_scope(struct parser *parser, enum scope *ret_scope)
{
	static const char *const names[] = {
	        [SCOPE_AUTO] = "auto", [SCOPE_BENCHMARKS] = "benchmarks", [SCOPE_PROCESS] = "process"};
	const char *value = parser->values[OPTION_SCOPE] ?: names[SCOPE_AUTO];

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (!strcmp(value, names[i])) {
			*ret_scope = (enum scope)i;
			return 0;
		}
	console_error(parser->console, "%s takes auto, benchmarks or process, not '%s'",
	        parser->sources[OPTION_SCOPE], value);
	return -EINVAL;
}

static int take_settings(const struct parser *parser, struct options *options)
{
	options->settings = calloc(parser->n_options, sizeof(*options->settings));
	if (!options->settings)
		return -ENOMEM;
	for (size_t i = n_host_options; i < parser->n_options; i++)
		if (parser->values[i])
			options->settings[options->n_settings++] =
			        (struct runner_setting){parser->options[i]->name, parser->values[i]};
	return 0;
}

static int interpret(struct parser *parser, const struct runner_plugin *api, struct options *ret_options)
{
	const char *const *values = parser->values;
	struct options options = {
	        .profile_folder = values[OPTION_PROFILE_FOLDER],
	        .quiet = values[OPTION_QUIET],
	        .allow_loss = values[OPTION_ALLOW_LOSS],
	        .allow_empty = values[OPTION_ALLOW_EMPTY],
	        .no_integrations = values[OPTION_NO_INTEGRATIONS],
	        .help = values[OPTION_HELP],
	        .version = values[OPTION_VERSION],
	};
	int error = read_verbose(parser, &options.verbose);

	if (error == 0)
		error = read_scope(parser, &options.scope);

	/* getopt_long accepts abbreviations, the scan before the instrument is loaded does not. */
	if (error == 0 && api && values[OPTION_INSTRUMENT] && strcmp(values[OPTION_INSTRUMENT], api->name)) {
		console_error(parser->console, "two instruments are named: %s and %s", api->name,
		        values[OPTION_INSTRUMENT]);
		error = -EINVAL;
	}
	if (error == 0)
		error = take_settings(parser, &options);
	if (error == 0)
		*ret_options = options;
	return error;
}

int options_init(
        struct options *ret_options, char **argv, const struct runner_plugin *api, struct console *console)
{
	struct parser parser CLEANUP(parser_deinit) = {0};
	int n_arguments = 0;
	int error = parser_init(&parser, api, console);

	while (argv[n_arguments] && strcmp(argv[n_arguments], "--"))
		n_arguments++;
	if (error == 0)
		error = read_environment(&parser);
	if (error == 0)
		error = read_arguments(&parser, n_arguments, argv);
	if (error == 0)
		error = read_switches(&parser);
	if (error == 0)
		error = interpret(&parser, api, ret_options);
	if (error == 0 && argv[n_arguments] && argv[n_arguments + 1])
		ret_options->command = argv + n_arguments + 1;
	return error;
}

void options_deinit(struct options *options)
{
	free(options->settings);
	*options = (struct options){0};
}
