/* folder.h: temporary folders, profile folders in them, and what other programs say of them. */
#ifndef TESTS_POST_FOLDER_H
#define TESTS_POST_FOLDER_H

#include <json.h>
#include <stddef.h>

#include "artifact/event.h"

struct folder {
	char path[64];
	int fd;
};

/* Makes a fresh folder; fails the test where it cannot. */
struct folder folder_new(void);

/* Removes it with all that is in it. */
void folder_remove(struct folder *folder);

/* Makes results/ and results/1.MemtrackArtifact.msgpack with the events. */
void folder_write_artifact(const struct folder *folder, const struct event *events, size_t n);

/* Runs a shell command, formatted; returns its output, which the caller frees, and its exit status. Fails the
 * test where it cannot be started or is killed. */
char *shell(int *ret_status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs a shell command, formatted, which must succeed. */
void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The path of a fixture (fixtures/make.sh). Valid until the next call. */
const char *fixture(const char *name);

/* Opens a fixture for reading. */
int open_fixture(const char *name);

/* Whether profile_check.py is at hand: $MEMSTACKS_PROFILE_CHECK, else $PROFILE_CHECK (from meson). */
bool have_profile_check(void);

/* What profile_check.py --json says; the caller ends it with json_object_put. */
json_object *profile_check(const struct folder *folder, const char *options, int *ret_status);

/* An unsigned integer of a JSON object; fails the test where it is missing. */
uint64_t json_uint(json_object *object, const char *key);

#endif
