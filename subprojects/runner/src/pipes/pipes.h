/* pipes.h: the conversation with integrations: two FIFOs, and what is said through them. */
#ifndef RUNNER_PIPES_PIPES_H
#define RUNNER_PIPES_PIPES_H

#include "pipes/fifo.h"
#include "pipes/inbox.h"
#include "pipes/integration.h"
#include "process/environment.h"

/* Where integrations look for them. */
#define PIPES_CONTROL_PATH "/tmp/runner.ctl.fifo"
#define PIPES_ANSWER_PATH  "/tmp/runner.ack.fifo"

struct pipes {
	struct fifo_pair fifos;
	struct inbox inbox;
	uint64_t waiting_since;  /* ns of CLOCK_MONOTONIC, since when the rest of a message does not come; 0:
	                            it is not  missing */
	uint64_t look_at;        /* when to look whether anybody is still there */
	bool is_unread;          /* an answer may still be in the pipe */
	uint64_t n_lost_answers; /* that nobody took */
	uint64_t n_lost_halves;  /* messages whose end never came */
};

#define PIPES_NONE ((struct pipes){.fifos = FIFO_PAIR_NONE})

/* Opens the pipes for the benchmark's user. Errors are said. */
int pipes_init(struct pipes *pipes, uid_t uid, gid_t gid, struct console *console);
void pipes_deinit(struct pipes *pipes);

/* Switches integrations on in the environment of the benchmark. */
int pipes_set_environment(struct environment *environment, const char *instrument, const char *profile);

/* To poll for POLLIN; -1: no pipes. */
int pipes_fd(const struct pipes *pipes);

/* Milliseconds after which pipes_serve wants to be called without input; -1: never. */
int pipes_timeout(const struct pipes *pipes);

/* Answers everything that has arrived, without waiting. */
void pipes_serve(struct pipes *pipes, struct integration *integration);

/* Says what went wrong in the conversation, as warnings. */
void pipes_warn(const struct pipes *pipes, const struct integration *integration, struct console *console);

#endif
