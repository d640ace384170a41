/* protocol.c: messages to structs and back. */
#include "pipes/protocol.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/text.h"

/* What is left of a message. */
struct source {
	const uint8_t *at;
	size_t n;
	bool bad; /* it ended too early */
};

static void take(struct source *source, void *ret_value, size_t n)
{
	memset(ret_value, 0, n);
	if (source->bad || source->n < n) {
		source->bad = true;
		return;
	}
	memcpy(ret_value, source->at, n);
	source->at += n;
	source->n -= n;
}

static uint32_t take_u32(struct source *source)
{
	uint32_t value;

	take(source, &value, sizeof(value));
	return le32toh(value);
}

static uint64_t take_u64(struct source *source)
{
	uint64_t value;

	take(source, &value, sizeof(value));
	return le64toh(value);
}

/* NULL: no such string, or no memory, which sets *error. */
static char *take_string(struct source *source, int *error)
{
	uint64_t n = take_u64(source);
	char *text;

	if (source->bad || n > source->n || memchr(source->at, '\0', n)) {
		source->bad = true;
		return NULL;
	}
	text = strndup((const char *)source->at, n);
	if (!text) {
		*error = -ENOMEM;
	} else if (!text_is_utf8(text)) {
		source->bad = true;
		free(text);
		return NULL;
	}
	source->at += n;
	source->n -= n;
	return text;
}

/* The fields of a command. False: there is no such command. */
static bool take_fields(struct source *source, struct command *command, int *error)
{
	switch (command->kind) {
	case MESSAGE_CURRENT_BENCHMARK:
		command->pid = (int32_t)take_u32(source);
		command->uri = take_string(source, error);
		return true;
	case MESSAGE_SET_INTEGRATION:
		command->name = take_string(source, error);
		command->version = take_string(source, error);
		return true;
	case MESSAGE_ADD_MARKER:
		command->pid = (int32_t)take_u32(source);
		command->marker = take_u32(source);
		command->timestamp = take_u64(source);
		return command->marker < PROTOCOL_N_MARKERS;
	case MESSAGE_SET_VERSION:
		command->protocol = take_u64(source);
		return true;
	case MESSAGE_START_PROFILER:
	case MESSAGE_STOP_PROFILER:
	case MESSAGE_PING_PROFILER:
	case MESSAGE_GET_INTEGRATION_MODE:
		return true;
	default:
		return false;
	}
}

int command_init(struct command *ret_command, const uint8_t *data, size_t n)
{
	struct source source = {.at = data, .n = n};
	struct command command CLEANUP(command_deinit) = {0};
	int error = 0;
	bool is_command;

	command.kind = take_u32(&source);
	is_command = !source.bad && take_fields(&source, &command, &error);
	if (error < 0)
		return error;
	if (!is_command || source.bad || source.n > 0)
		return -EBADMSG;
	*ret_command = command;
	command = (struct command){0};
	return 0;
}

void command_deinit(struct command *command)
{
	free(command->uri);
	free(command->name);
	free(command->version);
	*command = (struct command){0};
}

static void put_u32(uint8_t *data, uint32_t value)
{
	value = htole32(value);
	memcpy(data, &value, sizeof(value));
}

size_t protocol_encode_answer(enum message_kind kind, uint8_t ret_data[PROTOCOL_ANSWER_MAX])
{
	uint32_t n = kind == MESSAGE_INTEGRATION_MODE_RESPONSE ? 8 : 4;

	put_u32(ret_data, n);
	put_u32(ret_data + 4, kind);
	if (n == 8)
		put_u32(ret_data + 8, INTEGRATION_MODE_ANALYSIS);
	return PROTOCOL_LENGTH_SIZE + n;
}
