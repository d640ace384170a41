/* options.h: the command line of memstacks. */
#ifndef POST_MEMSTACKS_OPTIONS_H
#define POST_MEMSTACKS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/gate.h"
#include "report/metric.h"

enum command { COMMAND_REPORT, COMMAND_EXPORT, COMMAND_DIFF, COMMAND_UNRESOLVED, COMMAND_N };

enum export_format {
	FORMAT_NONE,
	FORMAT_FOLDED,
	FORMAT_PPROF,
	FORMAT_SPEEDSCOPE,
	FORMAT_DHAT,
	FORMAT_HTML,
};

struct options {
	enum command command;
	const char *profiles[2];
	enum export_format format;
	enum metric metric;    /* METRIC_N: not given */
	const char *output;    /* NULL: standard output */
	const char *html;      /* diff: also this file; NULL: none */
	const char *benchmark; /* NULL: everything */
	size_t top, depth, max_nodes, max_frames;
	bool json, full_names, by_process, no_fold, quiet;
	bool colour;
	struct gate *gates;
	size_t n_gates, n_gates_allocated;
};

/* Reads the command line; prints help and errors. *ret_status is the exit status where the program shall end
 * at once: the result is false then. Ends with options_deinit in both cases. */
bool options_parse(int argc, char **argv, struct options *ret_options, int *ret_status);

void options_deinit(struct options *options);

/* The help of a command; COMMAND_N: of the program. */
const char *help_text(enum command command);

#endif
