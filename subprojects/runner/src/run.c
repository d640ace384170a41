/* run.c: one run of an instrument over one command. */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pipes/pipes.h"
#include "process/child.h"
#include "process/command.h"
#include "process/identity.h"
#include "process/signals.h"
#include "profile/folder.h"
#include "profile/summary.h"
#include "status.h"
#include "term/figures.h"
#include "term/live.h"
#include "util/cleanup.h"

struct run {
	const struct runner_plugin *api;
	const struct options *options;
	const struct caller *caller;
	struct environment *environment;
	struct console *console;
	struct identity identity;
	struct folder folder;
	struct runner_host host;
	struct signals signals;
	struct child child;
	struct pipes pipes;
	struct integration integration;
	struct summary summary;
	void *state; /* of the plugin */
	bool is_open;
	struct live live;
	bool was_told; /* how to cut the finishing short */
};

static void close_plugin(struct run *run)
{
	if (run->is_open)
		run->api->close(run->state);
	run->is_open = false;
}

static void run_deinit(struct run *run)
{
	child_deinit(&run->child);
	pipes_deinit(&run->pipes);
	close_plugin(run);
	integration_deinit(&run->integration);
	signals_deinit(&run->signals);
	folder_deinit(&run->folder);
	identity_deinit(&run->identity);
	figures_deinit(&run->summary.figures);
	benchmarks_deinit(&run->summary.benchmarks);
}

/* Says that a function of the plugin failed, unless the plugin did as it should. */
static void report_plugin(struct run *run, size_t n_errors_before, const char *what, int error)
{
	if (console_n_errors(run->console) == n_errors_before)
		console_error(run->console, "the instrument %s cannot %s: %s", run->api->name, what,
		        strerror(-error));
}

/* Takes the rights of the caller while the folder is made: it must not be made where only the runner's own
 * rights reach. */
static int make_folder(struct run *run)
{
	struct rights rights;
	int error = identity_lower_rights(&rights);
	int raise_error;

	if (error == 0)
		error = folder_init(&run->folder, run->options->profile_folder,
		        environment_get(run->environment, "TMPDIR"), run->identity.uid, run->identity.gid,
		        run->console);
	raise_error = identity_raise_rights(&rights);
	return error < 0 ? error : raise_error;
}

static int open_plugin(struct run *run)
{
	size_t n_errors = console_n_errors(run->console);
	int error;

	run->host = (struct runner_host){
	        .abi_major = RUNNER_ABI_MAJOR,
	        .size = sizeof(run->host),
	        .context = run->console,
	        .log = console_log,
	        .profile_path = run->folder.path,
	        .profile_fd = run->folder.fd,
	        .owner_uid = run->folder.uid,
	        .owner_gid = run->folder.gid,
	        .wants_live = console_is_live(run->console),
	};
	error = run->api->open(&run->host, run->options->settings, run->options->n_settings, &run->state);
	if (error < 0)
		report_plugin(run, n_errors, error == -EINVAL ? "use these options" : "start", error);
	run->is_open = error >= 0;
	return error < 0 ? error : 0;
}

/* After the plugin is open: what it forked must not inherit them. */
static int open_pipes(struct run *run)
{
	int error;

	if (run->options->no_integrations)
		return 0;
	error = pipes_init(&run->pipes, run->identity.uid, run->identity.gid, run->console);
	if (error < 0)
		return error;
	return pipes_set_environment(run->environment, run->api->name, run->folder.path);
}

/* Forks the child and lets the plugin get hold of it. */
static int make_child(struct run *run)
{
	const struct child_plan plan = {
	        .caller = run->caller,
	        .identity = &run->identity,
	        .environment = run->environment,
	        .argv = run->options->command,
	        .api = run->api,
	        .state = run->state,
	};
	struct runner_child child = {.size = sizeof(child)};
	size_t n_errors;
	int error = child_spawn(&plan, run->console, &run->child);

	if (error < 0)
		return error;
	child.pid = run->child.pid;
	child.pidfd = run->child.pidfd;
	child.setup_fd = steal_fd(&run->child.setup_fd);
	child.argv = (const char *const *)run->options->command;
	n_errors = console_n_errors(run->console);
	error = run->api->pre_exec(run->state, &child);
	if (error < 0)
		report_plugin(run, n_errors, "watch the command", error);
	else
		error = integration_init(
		        &run->integration, run->api, run->state, run->options->scope, run->console);
	return error < 0 ? error : 0;
}

/* The status for a command that execve refused. */
static int refused_status(struct run *run)
{
	const char *file = run->options->command[0];
	int error = run->child.exec_error;

	if (error != ENOENT) {
		console_error(run->console, "cannot execute %s: %s", file, strerror(error));
		return STATUS_NOT_EXECUTABLE;
	}
	if (command_check(file) == -ENOENT) {
		console_error(run->console, "command not found: %s", file);
		return STATUS_NOT_FOUND;
	}
	console_error(run->console, "cannot execute %s: its interpreter or loader does not exist", file);
	return STATUS_NOT_EXECUTABLE;
}

static void read_figures(struct run *run)
{
	uint32_t n_nameless = 0;
	int error = figures_read(&run->summary.figures, run->api, run->state, &n_nameless);

	if (error < 0)
		console_warning(
		        run->console, "the figures of the instrument cannot be read: %s", strerror(-error));
	else if (n_nameless)
		console_warning(run->console, "figures of the instrument without a name: %u", n_nameless);
}

static void read_benchmarks(struct run *run)
{
	int error = run->summary.is_finished
	                    ? benchmarks_read(&run->summary.benchmarks, run->api, run->state)
	                    : 0;

	if (error < 0)
		console_warning(
		        run->console, "the figures of the benchmarks cannot be read: %s", strerror(-error));
}

/* Redraws the live line when it is time to. */
static void draw(struct run *run)
{
	uint32_t n_nameless;

	if (!live_is_due(&run->live))
		return;
	/* What fails here fails again, and is said, at the end. */
	(void)figures_read(&run->summary.figures, run->api, run->state, &n_nameless);
	live_show_figures(&run->live, &run->summary.figures);
}

/* The earlier of two timeouts as poll takes them. */
static int earlier(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Until the command has ended: passes signals on, answers integrations, shows the live line. */
static void wait_for_end(struct run *run)
{
	while (!run->child.ended) {
		struct pollfd fds[] = {
		        {.fd = run->signals.fd, .events = POLLIN},
		        {.fd = run->child.socket, .events = POLLIN},
		        {.fd = run->child.pidfd, .events = POLLIN},
		        {.fd = pipes_fd(&run->pipes), .events = POLLIN},
		};
		int timeout = earlier(live_timeout(&run->live), pipes_timeout(&run->pipes));

		/* A kernel without memory to poll with can still wait. */
		if (poll(fds, N_ELEMENTS(fds), timeout) < 0 && errno != EINTR)
			fds[2].revents = POLLIN;
		if (fds[0].revents)
			signals_take(&run->signals, &run->child);
		/* At the end, too: the last words may have come with it. */
		pipes_serve(&run->pipes, &run->integration);
		if (fds[1].revents || fds[2].revents)
			child_read_socket(&run->child);
		if (fds[2].revents)
			child_reap(&run->child);
		else
			draw(run);
	}
}

static void start(struct run *run)
{
	clock_gettime(CLOCK_REALTIME, &run->summary.started);
	live_start(&run->live, run->console);
	/* Fails for a child that somebody has killed already: its end says so. */
	(void)child_release(&run->child);
}

/* `progress` of post_exec. */
static int show_progress(void *context, uint32_t thousandths, const char *what)
{
	struct run *run = context;

	signals_take(&run->signals, NULL);
	if (run->signals.n_interrupts >= 2)
		return 1;
	if (run->signals.n_interrupts == 1 && !run->was_told) {
		console_info(run->console, "finishing the profile; another interrupt cuts it short");
		run->was_told = true;
	}
	if (live_is_due(&run->live))
		live_show_progress(&run->live, thousandths, what);
	return 0;
}

static void finish_plugin(struct run *run)
{
	struct runner_outcome outcome = {.size = sizeof(outcome)};
	size_t n_errors = console_n_errors(run->console);
	int error;

	/* However often the benchmark was interrupted: one more is what cuts the finishing short. */
	if (run->signals.n_interrupts > 1)
		run->signals.n_interrupts = 1;
	error = run->api->post_exec(run->state, run->child.wait_status, show_progress, run, &outcome);
	console_show_line(run->console, NULL);
	if (error == -EINTR)
		console_warning(run->console, "the finishing of the profile was interrupted");
	else if (error < 0)
		report_plugin(run, n_errors, "finish the profile", error);
	run->summary.is_finished = error >= 0;
	if (error >= 0)
		run->summary.outcome = outcome;
	read_figures(run);
	read_benchmarks(run);
	/* From here on no thread of the plugin says anything that the summary would miss. */
	close_plugin(run);
}

/* Everything that follows the command's end. Returns the exit status. */
static int finish(struct run *run)
{
	struct summary *summary = &run->summary;
	int error;

	summary->wall_ns = live_elapsed(&run->live);
	summary->wait_status = run->child.wait_status;
	/* The next run may listen while this one finishes. */
	pipes_deinit(&run->pipes);
	pipes_warn(&run->pipes, &run->integration, run->console);
	finish_plugin(run);
	summary_warn(summary, run->console);
	summary->exit_status = summary_exit_status(summary);
	error = summary_write(summary, &run->folder, run->console);
	if (error < 0) {
		console_error(run->console, "cannot write summary.json: %s", strerror(-error));
		summary->is_finished = false;
		summary->exit_status = summary_exit_status(summary);
	}
	summary_print(summary, &run->folder, run->console);
	return summary->exit_status;
}

/* Up to the command being ready to execute. 0, or the exit status. */
static int prepare(struct run *run)
{
	int error = signals_init(&run->signals);
	int number;

	if (error == 0)
		error = identity_init(&run->identity, run->environment, run->console);
	if (error == 0)
		error = make_folder(run);
	if (error == 0)
		error = open_plugin(run);
	if (error == 0)
		error = open_pipes(run);
	if (error == 0)
		error = make_child(run);
	if (error < 0) {
		console_ensure_error(run->console, error);
		return STATUS_RUNNER;
	}
	number = signals_end_request(&run->signals, run->caller);
	if (number == 0)
		return 0;
	console_error(run->console, "ended by signal %d (%s) before the command was started", number,
	        strsignal(number));
	return STATUS_SIGNAL + number;
}

int run(const struct runner_plugin *api, const struct options *options, const struct caller *caller,
        struct environment *environment, struct console *console)
{
	struct run run CLEANUP(run_deinit) = {
	        .api = api,
	        .options = options,
	        .caller = caller,
	        .environment = environment,
	        .console = console,
	        .folder = FOLDER_NONE,
	        .signals = {.fd = -1},
	        .child = CHILD_NONE,
	        .pipes = PIPES_NONE,
	        .summary = {.api = api,
	                .command = options->command,
	                .allow_loss = options->allow_loss,
	                .allow_empty = options->allow_empty,
	                .integration = &run.integration},
	};
	int status = prepare(&run);

	if (status == 0) {
		start(&run);
		wait_for_end(&run);
		if (!run.child.exec_error)
			return finish(&run);
		status = refused_status(&run);
	}
	/* There was no run: nothing of it stays. */
	child_deinit(&run.child);
	close_plugin(&run);
	folder_discard(&run.folder);
	return status;
}
