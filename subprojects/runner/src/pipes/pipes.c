/* pipes.c: bytes in, answers out, and the clients that go away in between. */
#include "pipes/pipes.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "util/cleanup.h"

#define MS          1000000u /* ns */
#define N_READS_MAX 64       /* at a time */

/* A writer in the middle of a message that is too long pauses for less than this. */
#define SKIP_QUIET_NS (50 * MS)
/* Whoever writes a message writes all of it; this much is for a process that is stopped in between. */
#define HALF_QUIET_NS (3000 * MS)
/* A client may open the pipes anew for every step. */
#define LOOK_NS (500 * MS)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int pipes_init(struct pipes *pipes, uid_t uid, gid_t gid, struct console *console)
{
	*pipes = PIPES_NONE;
	return fifo_pair_init(&pipes->fifos, PIPES_CONTROL_PATH, PIPES_ANSWER_PATH, uid, gid, console);
}

void pipes_deinit(struct pipes *pipes)
{
	fifo_pair_deinit(&pipes->fifos);
}

int pipes_set_environment(struct environment *environment, const char *instrument, const char *profile)
{
	char *path CLEANUP_FREE = realpath(profile, NULL);
	struct utsname machine;
	int error = 0;

	if (!path || uname(&machine) < 0)
		return -errno;
	const char *const variables[][2] = {
	        {"CODSPEED_ENV", "runner"},
	        {"CODSPEED_RUNNER_MODE", instrument},
	        {"CODSPEED_PROFILE_FOLDER", path},
	        {"ARCH", machine.machine},
	        {"PYTHONHASHSEED", "0"},
	        {"PYTHON_PERF_JIT_SUPPORT", "0"},
	};

	for (size_t i = 0; i < N_ELEMENTS(variables) && error == 0; i++)
		error = environment_set(environment, variables[i][0], variables[i][1]);
	return error;
}

int pipes_fd(const struct pipes *pipes)
{
	return pipes->fifos.control.fd;
}

int pipes_timeout(const struct pipes *pipes)
{
	if (pipes_fd(pipes) < 0 || (!pipes->waiting_since && !pipes->is_unread))
		return -1;
	return pipes->inbox.n_skip ? (int)(SKIP_QUIET_NS / MS) : (int)(LOOK_NS / MS);
}

/* Whether an answer is still in the pipe. */
static bool is_unread(struct pipes *pipes)
{
	int n_unread = 0;

	if (pipes->is_unread && ioctl(pipes->fifos.answer.fd, FIONREAD, &n_unread) == 0 && n_unread == 0)
		pipes->is_unread = false;
	return pipes->is_unread;
}

/* Answers are shorter than PIPE_BUF: all or nothing is written (pipe(7)). */
static void send_answer(struct pipes *pipes, enum message_kind kind)
{
	uint8_t data[PROTOCOL_ANSWER_MAX];
	size_t n = protocol_encode_answer(kind, data);
	ssize_t n_written;

	if (!is_unread(pipes))
		pipes->look_at = now_ns() + LOOK_NS;
	do
		n_written = write(pipes->fifos.answer.fd, data, n);
	while (n_written < 0 && errno == EINTR);
	/* The pipe is full of answers that nobody takes. */
	pipes->n_lost_answers += n_written < 0;
	pipes->is_unread = true;
}

static void answer_all(struct pipes *pipes, struct integration *integration)
{
	enum inbox_result result;
	const uint8_t *data;
	size_t n;

	while ((result = inbox_next(&pipes->inbox, &data, &n)) != INBOX_MORE) {
		if (result == INBOX_REFUSED)
			integration->n_refused++;
		send_answer(pipes,
		        result == INBOX_REFUSED ? MESSAGE_ERR : integration_answer(integration, data, n));
	}
}

/* The rest does not come: what is there is given up, and whoever may still be there told. */
static void give_up_half(struct pipes *pipes, struct integration *integration, bool is_anybody_there)
{
	inbox_reset(&pipes->inbox);
	pipes->waiting_since = 0;
	integration->n_refused += is_anybody_there;
	pipes->n_lost_halves += !is_anybody_there;
	if (is_anybody_there)
		send_answer(pipes, MESSAGE_ERR);
}

/* An answer that stays must not become that of somebody else's next question. */
static void take_back(struct pipes *pipes)
{
	uint8_t data[PROTOCOL_ANSWER_MAX * 64];
	ssize_t n, n_bytes = 0;

	while ((n = read(pipes->fifos.answer.fd, data, sizeof(data))) > 0)
		n_bytes += n;
	/* Those who end without listening to the last answer lose nothing by it. */
	pipes->n_lost_answers += n_bytes > PROTOCOL_ANSWER_MAX;
	pipes->is_unread = false;
}

/* Whether anybody is still there who has not sent the rest, or not taken the answer. */
static void look_around(struct pipes *pipes, struct integration *integration, uint64_t now)
{
	bool is_answer_there = is_unread(pipes);

	if (now < pipes->look_at)
		return;
	pipes->look_at = now + LOOK_NS;
	if (pipes->waiting_since && !fifo_is_open_elsewhere(&pipes->fifos.control))
		give_up_half(pipes, integration, false);
	if (is_answer_there && !fifo_is_open_elsewhere(&pipes->fifos.answer))
		take_back(pipes);
}

void pipes_serve(struct pipes *pipes, struct integration *integration)
{
	uint64_t now, quiet;

	if (pipes_fd(pipes) < 0)
		return;
	/* A client that never stops must not keep the runner from everything else. */
	for (int i = 0; i < N_READS_MAX && inbox_read(&pipes->inbox, pipes_fd(pipes)) > 0; i++) {
		pipes->waiting_since = 0;
		answer_all(pipes, integration);
	}
	now = now_ns();
	if (!inbox_is_waiting(&pipes->inbox)) {
		pipes->waiting_since = 0;
	} else if (!pipes->waiting_since) {
		pipes->waiting_since = now;
		pipes->look_at = now + LOOK_NS;
	}
	quiet = pipes->inbox.n_skip ? SKIP_QUIET_NS : HALF_QUIET_NS;
	if (pipes->waiting_since && now - pipes->waiting_since >= quiet)
		give_up_half(pipes, integration, true);
	look_around(pipes, integration, now);
}

void pipes_warn(const struct pipes *pipes, const struct integration *integration, struct console *console)
{
	if (integration->n_refused)
		console_warning(console, "messages of integrations that were refused: %llu",
		        (unsigned long long)integration->n_refused);
	if (integration->n_restarted)
		console_warning(console,
		        "benchmarks that were started and not stopped before the next one: %llu",
		        (unsigned long long)integration->n_restarted);
	if (integration->is_started)
		console_warning(console, "the last benchmark was started and not stopped");
	if (pipes->n_lost_halves)
		console_warning(console, "messages of integrations whose end never came: %llu",
		        (unsigned long long)pipes->n_lost_halves);
	if (pipes->n_lost_answers)
		console_warning(console, "answers to integrations that nobody took: %llu",
		        (unsigned long long)pipes->n_lost_answers);
}
