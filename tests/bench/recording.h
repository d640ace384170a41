/* recording.h: runs commands for benches, with the runner or without, and says what it took. */
#ifndef TESTS_BENCH_RECORDING_H
#define TESTS_BENCH_RECORDING_H

#include <stdint.h>

struct recording {
	double wall;        /* seconds from the start of the command line to its end */
	uint64_t started;   /* ns of CLOCK_MONOTONIC */
	uint64_t ended;     /* the same */
	uint64_t rss;       /* bytes: what the runner's own processes had at most, taken together */
	char out[256];      /* the beginning of standard output */
	uint64_t n_events;  /* of the artifact; 0 without a runner */
	uint64_t n_bytes;   /* of the artifact */
	uint64_t n_lost;    /* from summary.json */
	uint64_t n_calls;   /* of them, allocations and frees */
	uint64_t exec_time; /* of the last Exec event, ns */
	double own;         /* seconds from the first Exec to the last Exit: what the command itself took */
};

/* Runs `argv` (NULL-terminated). `options`: of the runner, NULL-terminated; NULL: without it. The profile is
 * in BENCH_PROFILE until the next run. 0, or -1: it failed, and it was said why. */
int recording_run(const char *const *argv, const char *const *options, struct recording *ret_recording);

/* The same, and reads the artifact for the events and times, and the summary. */
int recording_run_and_read(
        const char *const *argv, const char *const *options, struct recording *ret_recording);

#endif
