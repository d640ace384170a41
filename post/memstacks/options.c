/* options.c: the command line by getopt_long. */
#include "memstacks/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memstacks/status.h"
#include "util/cleanup.h"
#include "util/grow.h"

#define DEFAULT_TOP   10
#define DEFAULT_DEPTH 24

static const char *const command_names[COMMAND_N] = {"report", "export", "diff", "unresolved"};

enum {
	OPTION_FOLDED = 256,
	OPTION_PPROF,
	OPTION_SPEEDSCOPE,
	OPTION_DHAT,
	OPTION_HTML,
	OPTION_METRIC,
	OPTION_MAX_NODES,
	OPTION_DEPTH,
	OPTION_BY_PROCESS,
	OPTION_JSON,
	OPTION_FULL_NAMES,
	OPTION_FAIL_ON,
	OPTION_BENCHMARK,
	OPTION_NO_FOLD,
	OPTION_MAX_FRAMES,
	OPTION_COLOR,
};

#define COMMON                                                                                               \
	{"benchmark", required_argument, NULL, OPTION_BENCHMARK},                                            \
	        {"no-fold", no_argument, NULL, OPTION_NO_FOLD},                                              \
	        {"max-frames", required_argument, NULL, OPTION_MAX_FRAMES},                                  \
	        {"color", required_argument, NULL, OPTION_COLOR}, {"quiet", no_argument, NULL, 'q'},         \
	        {"help", no_argument, NULL, 'h'},                                                            \
	{                                                                                                    \
		0                                                                                            \
	}

static const struct option report_options[] = {{"top", required_argument, NULL, 'n'},
        {"depth", required_argument, NULL, OPTION_DEPTH},
        {"by-process", no_argument, NULL, OPTION_BY_PROCESS}, {"json", no_argument, NULL, OPTION_JSON},
        COMMON};

static const struct option export_options[] = {{"folded", no_argument, NULL, OPTION_FOLDED},
        {"pprof", no_argument, NULL, OPTION_PPROF}, {"speedscope", no_argument, NULL, OPTION_SPEEDSCOPE},
        {"dhat", no_argument, NULL, OPTION_DHAT}, {"html", no_argument, NULL, OPTION_HTML},
        {"output", required_argument, NULL, 'o'}, {"metric", required_argument, NULL, OPTION_METRIC},
        {"max-nodes", required_argument, NULL, OPTION_MAX_NODES}, COMMON};

static const struct option diff_options[] = {{"fail-on", required_argument, NULL, OPTION_FAIL_ON},
        {"html", required_argument, NULL, OPTION_HTML}, {"top", required_argument, NULL, 'n'},
        {"depth", required_argument, NULL, OPTION_DEPTH}, {"json", no_argument, NULL, OPTION_JSON},
        {"full-names", no_argument, NULL, OPTION_FULL_NAMES},
        {"max-nodes", required_argument, NULL, OPTION_MAX_NODES}, COMMON};

static const struct option unresolved_options[] = {{"json", no_argument, NULL, OPTION_JSON},
        {"full-names", no_argument, NULL, OPTION_FULL_NAMES}, COMMON};

static const struct {
	const struct option *options;
	const char *letters;
	int n_profiles;
} commands[COMMAND_N] = {
        [COMMAND_REPORT] = {report_options, "n:qh", 1},
        [COMMAND_EXPORT] = {export_options, "o:qh", 1},
        [COMMAND_DIFF] = {diff_options, "n:qh", 2},
        [COMMAND_UNRESOLVED] = {unresolved_options, "qh", 1},
};

static bool usage_error(const struct options *options, const char *what, const char *value)
{
	fprintf(stderr, "memstacks: %s%s%s\n", what, value ? ": " : "", value ? value : "");
	if (options->command < COMMAND_N)
		fprintf(stderr, "Try 'memstacks %s --help'.\n", command_names[options->command]);
	else
		fputs("Try 'memstacks --help'.\n", stderr);
	return false;
}

static bool parse_size(const struct options *options, const char *text, size_t *ret_value)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text < '0' || *text > '9' || value > UINT32_MAX)
		return usage_error(options, "not a number from 0 to 4294967295", text);
	*ret_value = value;
	return true;
}

static bool set_format(struct options *options, enum export_format format)
{
	if (options->format != FORMAT_NONE && options->format != format)
		return usage_error(options, "one format at a time", NULL);
	options->format = format;
	return true;
}

static bool add_gate(struct options *options, const char *text)
{
	const char *why = "out of memory";

	if (GROW_BY_ONE(options->gates, options->n_gates_allocated, options->n_gates) < 0 ||
	        gate_parse(text, &options->gates[options->n_gates], &why) < 0) {
		fprintf(stderr, "memstacks: --fail-on '%s': %s\n", text, why);
		return usage_error(options, "the gate cannot be used", NULL);
	}
	options->n_gates++;
	return true;
}

static bool wants_colour(void)
{
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) &&
	       !(terminal && strcmp(terminal, "dumb") == 0);
}

static bool set_colour(struct options *options, const char *when)
{
	if (strcmp(when, "always") != 0 && strcmp(when, "never") != 0 && strcmp(when, "auto") != 0)
		return usage_error(options, "--color is auto, always or never, not", when);
	options->colour = strcmp(when, "always") == 0 || (strcmp(when, "auto") == 0 && wants_colour());
	return true;
}

static bool set_metric(struct options *options, const char *name)
{
	options->metric = metric_find(name);
	return options->metric < METRIC_N || usage_error(options, "unknown metric", name);
}

static bool apply(struct options *options, int option, const char *value)
{
	switch (option) {
	case OPTION_FOLDED:
	case OPTION_PPROF:
	case OPTION_SPEEDSCOPE:
	case OPTION_DHAT:
		return set_format(options, FORMAT_FOLDED + (unsigned)(option - OPTION_FOLDED));
	case OPTION_HTML:
		options->html = value;
		return options->command == COMMAND_DIFF || set_format(options, FORMAT_HTML);
	case OPTION_METRIC:
		return set_metric(options, value);
	case OPTION_MAX_NODES:
		return parse_size(options, value, &options->max_nodes);
	case OPTION_DEPTH:
		return parse_size(options, value, &options->depth);
	case OPTION_MAX_FRAMES:
		return parse_size(options, value, &options->max_frames);
	case 'n':
		return parse_size(options, value, &options->top);
	case OPTION_FAIL_ON:
		return add_gate(options, value);
	case OPTION_COLOR:
		return set_colour(options, value);
	case OPTION_BENCHMARK:
		options->benchmark = value;
		return true;
	case 'o':
		options->output = strcmp(value, "-") == 0 ? NULL : value;
		return true;
	default:
		options->by_process |= option == OPTION_BY_PROCESS;
		options->json |= option == OPTION_JSON;
		options->full_names |= option == OPTION_FULL_NAMES;
		options->no_fold |= option == OPTION_NO_FOLD;
		options->quiet |= option == 'q';
		return true;
	}
}

static bool check(struct options *options, int n_profiles)
{
	int n_expected = commands[options->command].n_profiles;

	if (n_profiles != n_expected)
		return usage_error(options,
		        n_expected == 2 ? "two profile folders are compared, OLD and NEW"
		                        : "exactly one profile folder is read",
		        NULL);
	if (options->command == COMMAND_EXPORT && options->format == FORMAT_NONE)
		return usage_error(
		        options, "which format? --folded, --pprof, --speedscope, --dhat or --html", NULL);
	if (options->metric < METRIC_N && options->format != FORMAT_FOLDED)
		return usage_error(
		        options, "--metric goes with --folded only: the others hold all metrics", NULL);
	if (options->command == COMMAND_EXPORT && !options->output && options->format == FORMAT_PPROF &&
	        isatty(STDOUT_FILENO))
		return usage_error(options, "this format is not for a terminal: name a file with -o", NULL);
	return true;
}

/* The options of a command; argv[0] is its name. */
static bool parse_command(struct options *options, int argc, char **argv, int *ret_status)
{
	int option;

	*ret_status = STATUS_USAGE;
	opterr = 0;
	optind = 0; /* glibc: start again */
	while ((option = getopt_long(argc, argv, commands[options->command].letters,
	                commands[options->command].options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help_text(options->command), stdout);
			*ret_status = fflush(stdout) ? STATUS_OUTPUT : STATUS_OK;
			return false;
		}
		if (option == '?')
			return usage_error(
			        options, "unknown option, or one without its argument", argv[optind - 1]);
		if (!apply(options, option, optarg))
			return false;
	}
	for (int i = 0; i < argc - optind && i < 2; i++)
		options->profiles[i] = argv[optind + i];
	return check(options, argc - optind);
}

bool options_parse(int argc, char **argv, struct options *ret_options, int *ret_status)
{
	*ret_options = (struct options){.command = COMMAND_N,
	        .metric = METRIC_N,
	        .top = DEFAULT_TOP,
	        .depth = DEFAULT_DEPTH,
	        .colour = wants_colour()};
	*ret_status = STATUS_USAGE;
	if (argc < 2)
		return usage_error(ret_options, "which command? report, export, diff or unresolved", NULL);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		fputs(help_text(COMMAND_N), stdout);
		*ret_status = fflush(stdout) ? STATUS_OUTPUT : STATUS_OK;
		return false;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("memstacks " MEMSTACKS_VERSION);
		*ret_status = fflush(stdout) ? STATUS_OUTPUT : STATUS_OK;
		return false;
	}
	for (int i = 0; i < COMMAND_N; i++)
		if (strcmp(argv[1], command_names[i]) == 0)
			ret_options->command = (enum command)i;
	if (ret_options->command == COMMAND_N)
		return usage_error(ret_options, "unknown command", argv[1]);
	return parse_command(ret_options, argc - 1, argv + 1, ret_status);
}

void options_deinit(struct options *options)
{
	for (size_t i = 0; i < options->n_gates; i++)
		gate_deinit(&options->gates[i]);
	free(options->gates);
	options->gates = NULL;
	options->n_gates = 0;
}
