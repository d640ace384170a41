/* samples.h: stacks taken by gdb_samples.py, with gdb's own view of them. */
#ifndef TESTS_UNWIND_SAMPLES_H
#define TESTS_UNWIND_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "artifact/event.h"

struct sample {
	struct event definition; /* EVENT_STACK_DEFINITION; the hash is the sample's number + 1 */
	uint64_t *pcs;           /* gdb's frames, innermost first: AVMA */
	char **names;            /* "" where gdb knows none */
	size_t n_frames;
	uint8_t *bytes; /* what the definition points to */
};

struct samples {
	struct event *mappings; /* EVENT_MAPPING */
	size_t n_mappings;
	struct sample *samples;
	size_t n_samples;
	void *json; /* the texts of the mappings */
};

/* Runs `argv` under gdb and reads what came out. `settings` are NAME=VALUE for the script, NULL-terminated;
 * `scratch` is a folder for the intermediate file. Fails the running test where that does not work. */
void samples_take(const char *const *argv, const char *const *settings, const char *scratch,
        struct samples *ret_samples);

/* Reads such a file. Fails the running test where it is not one. */
void samples_read(const char *path, struct samples *ret_samples);

/* Makes a profile of them in the empty folder, by way of the artifact and the dump. Maps of generated code
 * are taken from `perf_map_folder` (NULL: none). Fails the running test likewise. */
#define SAMPLES_ARTIFACT "1.MemtrackArtifact.msgpack"
void samples_write_profile(const struct samples *samples, int folder_fd, const char *perf_map_folder);

void samples_deinit(struct samples *samples);

#endif
