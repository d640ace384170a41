/* executions.h: which benchmark ran when, as it is told during the run, for ExecutionTimestamps.msgpack
 * (FORMATS.md section 3). */
#ifndef POST_PROFILE_EXECUTIONS_H
#define POST_PROFILE_EXECUTIONS_H

#include <stddef.h>
#include <stdint.h>

#define EXECUTIONS_NAME "results/ExecutionTimestamps.msgpack"

/* Numbers as in the protocol of the integrations. */
enum execution_marker {
	EXECUTION_SAMPLE_START,
	EXECUTION_SAMPLE_END,
	EXECUTION_ROUND_START,
	EXECUTION_ROUND_END,
	EXECUTION_N_MARKERS,
};

struct execution_uri {
	uint64_t time; /* ns of CLOCK_MONOTONIC, like the next */
	char *uri;
};

struct execution_mark {
	uint64_t time;
	enum execution_marker kind;
};

/* A zeroed one is empty and valid. In order of arrival. */
struct executions {
	struct execution_uri *uris;
	size_t n_uris, n_uris_allocated;
	struct execution_mark *marks;
	size_t n_marks, n_marks_allocated;
};

/* `uri` is copied. 0 or -ENOMEM. */
int executions_name(struct executions *executions, uint64_t time, const char *uri);

/* 0, -ENOMEM, or -EINVAL: there is no such marker. */
int executions_mark(struct executions *executions, uint64_t time, uint32_t kind);

/* Makes the file below the profile folder, for its owner. 0 or a negative errno, -EEXIST when it is there;
 * after an error in the middle there is none. */
int executions_write(const struct executions *executions, int profile_fd, uint32_t uid, uint32_t gid);

void executions_deinit(struct executions *executions);

#endif
