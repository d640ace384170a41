/* runner_plugin.h: the ABI between the runner and its instruments.
 *
 * An instrument is a shared object `runner-<instrument>.so` that exports exactly one symbol, the constant
 * `runner_plugin` (RUNNER_PLUGIN_SYMBOL). The host checks abi_major and size before it looks at anything
 * else. Both first fields never move; later versions only append, and either side reads a field only when
 * the other's `size` covers it.
 *
 * Rules for all functions of the plugin:
 *   - The host calls them on one thread, its main thread, in the order
 *       open, child_setup (in the child), pre_exec, {start, stop, figures, integration, benchmark, marker}*,
 *       post_exec, figures, benchmark_figures*, close.
 *     `close` follows every successful `open`, whatever failed later; it does not follow a failed `open`.
 *   - They return 0 or a negative errno unless said otherwise, and say what went wrong through
 *     runner_host.log, at RUNNER_LOG_ERROR, before they return an error.
 *   - A process that the plugin forks keeps no descriptor of the host: the child that waits before execve ends
 *     when the runner's end of its socket is closed, which is how it learns that the runner has died.
 *   - They neither exit nor install signal handlers, and leave no global state behind `close`.
 *   - Strings are NUL-terminated, in the encoding of the file system; the caller owns what it passes, for
 *     the duration of the call unless said otherwise.
 */
#ifndef RUNNER_PLUGIN_H
#define RUNNER_PLUGIN_H

#include <stdint.h>

#define RUNNER_ABI_MAJOR     1u
#define RUNNER_PLUGIN_SYMBOL "runner_plugin"

/* Levels of runner_host.log. */
#define RUNNER_LOG_ERROR   0u
#define RUNNER_LOG_WARNING 1u
#define RUNNER_LOG_INFO    2u /* one-line facts; shown with --verbose */
#define RUNNER_LOG_DEBUG   3u /* shown with --verbose given twice */

/* Units of runner_figure.value. */
#define RUNNER_UNIT_COUNT       0u
#define RUNNER_UNIT_BYTES       1u
#define RUNNER_UNIT_NANOSECONDS 2u

/* Bits of runner_figure.flags. */
#define RUNNER_FIGURE_LIVE    1u /* worth showing while the command runs */
#define RUNNER_FIGURE_SUMMARY 2u /* belongs to the summary at the end */
#define RUNNER_FIGURE_BAD     4u /* anything but 0 deserves the user's attention */

/* Values of `kind` of runner_plugin.marker. */
#define RUNNER_MARKER_SAMPLE_START 0u
#define RUNNER_MARKER_SAMPLE_END   1u
#define RUNNER_MARKER_ROUND_START  2u
#define RUNNER_MARKER_ROUND_END    3u

/* What the host gives to the plugin. Valid from `open` until `close` returns. */
struct runner_host {
	uint32_t abi_major; /* RUNNER_ABI_MAJOR */
	uint32_t size;      /* sizeof(struct runner_host) of the host */
	void *context;      /* passed back to `log` */
	/* Any thread may call it. `text` is one message without a newline; the host copies it. */
	void (*log)(void *context, uint32_t level, const char *text);
	const char *profile_path; /* the profile folder as the user would name it */
	int32_t profile_fd;       /* open directory, close-on-exec, owned by the host; files are made below it
	                             with openat(O_CREAT | O_EXCL | O_NOFOLLOW), never by path */
	uint32_t owner_uid;       /* who the folder and the files in it belong to */
	uint32_t owner_gid;
	uint32_t wants_live; /* 1: `figures` will be called while the command runs; 0: only afterwards */
};

/* An option of the instrument. The host shows it in --help, accepts `--name` on the command line and
 * RUNNER_NAME (upper case, '-' as '_') in the environment, and checks only that an argument is there. */
struct runner_option {
	const char *name;     /* without the dashes */
	const char *argument; /* name of its argument for --help, or NULL for a switch */
	const char *help;
};

/* An option as given. A switch has the value "1". The last one of a name wins and is the only one passed. */
struct runner_setting {
	const char *name;
	const char *value;
};

/* The child that will become the benchmark: forked, with its final user, groups, working directory and
 * descriptors, waiting before execve until pre_exec has returned. */
struct runner_child {
	uint32_t size; /* sizeof(struct runner_child) of the host */
	int32_t pid;   /* as the runner sees it */
	int32_t pidfd; /* owned by the host, open until post_exec has returned */
	int32_t setup_fd; /* what child_setup returned, as a descriptor of the runner: close-on-exec, owned by the
	                     plugin from this call on (also when pre_exec fails); -1 when it returned none */
	const char *const *argv; /* NULL-terminated command line */
};

/* A number to show. Strings are constants of the plugin. */
struct runner_figure {
	const char *key;   /* in summary.json */
	const char *label; /* for people */
	uint64_t value;
	uint32_t unit;
	uint32_t flags;
};

/* What post_exec found; decides the exit status of a command that itself ended with 0. */
struct runner_outcome {
	uint32_t size;         /* set by the host: sizeof(struct runner_outcome) */
	uint32_t gate_failed;  /* 1: a condition the user set was not met (status 122) */
	uint64_t n_lost;       /* events that happened and are not in the artifact (status 120) */
	uint64_t n_not_traced; /* programs and libraries whose calls were not seen (status 121) */
};

struct runner_plugin {
	uint32_t abi_major; /* RUNNER_ABI_MAJOR the plugin was built with */
	uint32_t size;      /* sizeof(struct runner_plugin) of the plugin */
	const char *name;   /* the instrument: "memory" */
	const char *version;
	const char *summary; /* one line for --help */
	const struct runner_option *options;
	uint32_t n_options;
	uint32_t reserved; /* 0 */

	/* Checks the settings and the machine, and loads what it needs. No child exists yet.
	 * -EINVAL: a setting is not valid (reported as a usage error); -EPERM: rights are missing.
	 * On success *ret_state is the plugin's own and is passed to every other function. */
	int (*open)(const struct runner_host *host, const struct runner_setting *settings, uint32_t n_settings,
		void **ret_state);

	/* Runs in the forked child, with the runner's rights, before the change of user; may be NULL. Only
	 * async-signal-safe work. Returns a descriptor to hand to the runner (the host closes it in the child
	 * afterwards), RUNNER_NO_FD for none, or a negative errno that ends the run. It cannot log. */
	int (*child_setup)(void *state);

	/* See struct runner_child. A failure ends the run: the host kills the child before it executes. */
	int (*pre_exec)(void *state, const struct runner_child *child);

	/* Switch recording on and off; on from the beginning. In effect when they return. Nesting is not
	 * counted: a second start is no error. */
	int (*start)(void *state);
	int (*stop)(void *state);

	/* Fills up to n_figures figures and returns how many there are (which may be more than n_figures), or a
	 * negative errno. Cheap: called several times a second when wants_live is 1. */
	int (*figures)(void *state, struct runner_figure *ret_figures, uint32_t n_figures);

	/* The command has ended with wait_status (as of waitpid). Takes what is still under way, finishes the
	 * files. May take seconds; reports progress through `progress` if it is not NULL, on this thread, with
	 * the share done in thousandths and what is being done. `progress` returning non-zero asks to stop
	 * early: the plugin keeps what is there and returns -EINTR. */
	int (*post_exec)(void *state, int32_t wait_status,
		int (*progress)(void *context, uint32_t thousandths, const char *what), void *progress_context,
		struct runner_outcome *ret_outcome);

	/* Frees everything. Accepts any state that `open` returned, also after failures. */
	void (*close)(void *state);

	/* What follows was appended: a plugin whose `size` ends before it (RUNNER_PLUGIN_SIZE_MIN) has none of it, and
	 * each may be NULL. */

	/* An integration of the benchmark's language announced itself. May come several times: the last one counts. */
	int (*integration)(void *state, const char *name, const char *version);

	/* The benchmark that ran last in process `pid` (as the benchmark sees it) is named; `timestamp` in ns of
	 * CLOCK_MONOTONIC, when that arrived. `uri` is UTF-8, and may be empty. */
	int (*benchmark)(void *state, int32_t pid, const char *uri, uint64_t timestamp);

	/* Something that is worth knowing about a benchmark happened at `timestamp`, in ns of CLOCK_MONOTONIC. `kind`: a
	 * RUNNER_MARKER_. The host gives the starts and stops it was asked for as samples, with pid 0; the others are
	 * the benchmark's own. In order of arrival, which need not be that of time. */
	int (*marker)(void *state, int32_t pid, uint32_t kind, uint64_t timestamp);

	/* Figures of benchmark number `index`, counted from 0 in order of first arrival: fills up to n_figures, and
	 * returns how many there are; 0: there is no such benchmark. Those with RUNNER_FIGURE_SUMMARY become columns of
	 * the summary; all benchmarks have the same ones in the same order. *ret_uri is the plugin's until close; "" for
	 * what was measured and never named. */
	int (*benchmark_figures)(void *state, uint64_t index, const char **ret_uri, struct runner_figure *ret_figures,
		uint32_t n_figures);
};

/* The `size` of the first plugins of this ABI: through `close`, on 64-bit machines. */
#define RUNNER_PLUGIN_SIZE_MIN 112u

#define RUNNER_NO_FD 0x7fffffff

#endif
