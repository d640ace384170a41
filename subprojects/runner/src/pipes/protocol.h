/* protocol.h: what benchmarks with an integration and the runner say to each other.
 *
 * A message is a u32 with the length of what follows, and a bincode 1.x value: a u32 that names the variant,
 * then its fields; a string is a u64 length and its bytes. All little endian.
 */
#ifndef RUNNER_PIPES_PROTOCOL_H
#define RUNNER_PIPES_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

/* The numbers of the variants. */
enum message_kind {
	MESSAGE_CURRENT_BENCHMARK = 0,
	MESSAGE_START_PROFILER = 1,
	MESSAGE_STOP_PROFILER = 2,
	MESSAGE_ACK = 3,
	MESSAGE_PING_PROFILER = 4,
	MESSAGE_SET_INTEGRATION = 5,
	MESSAGE_ERR = 6,
	MESSAGE_ADD_MARKER = 7,
	MESSAGE_SET_VERSION = 8,
	MESSAGE_GET_INTEGRATION_MODE = 9,
	MESSAGE_INTEGRATION_MODE_RESPONSE = 10,
};

#define PROTOCOL_VERSION_MIN 2u /* that an instrument like memory needs */
#define PROTOCOL_N_MARKERS   4u /* SampleStart, SampleEnd, RoundStart, RoundEnd */

/* What StartProfiler and StopProfiler are recorded as; numbers as in AddMarker. */
#define MARKER_SAMPLE_START 0u
#define MARKER_SAMPLE_END   1u

/* The mode that the runner answers: neither time (0) nor simulation (1). */
#define INTEGRATION_MODE_ANALYSIS 2u

#define PROTOCOL_LENGTH_SIZE 4u
#define PROTOCOL_ANSWER_MAX  12u

/* A command, decoded. Fields that its kind does not have are 0. */
struct command {
	enum message_kind kind;
	int32_t pid;
	uint32_t marker;
	uint64_t timestamp; /* ns of CLOCK_MONOTONIC */
	uint64_t protocol;
	char *uri;
	char *name;
	char *version;
};

/* Decodes a message without its length. -EBADMSG: unknown, malformed, with bytes left over, with a string
 * that is no UTF-8 or has a NUL in it, or no command (an answer); -ENOMEM. The caller ends it with
 * command_deinit. */
int command_init(struct command *ret_command, const uint8_t *data, size_t n);
void command_deinit(struct command *command);

/* Writes an answer, with its length: Ack, Err, or the mode. Returns its size. */
size_t protocol_encode_answer(enum message_kind kind, uint8_t ret_data[PROTOCOL_ANSWER_MAX]);

#endif
