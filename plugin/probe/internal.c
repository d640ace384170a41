/* internal.c: a search for call instructions. */
#include "probe/internal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"
#include "util/cleanup.h"

#if defined(__x86_64__)

#include <Zydis/Zydis.h>

#define OPCODE_CALL 0xe8
#define OPCODE_JUMP 0xe9
#define LENGTH      5 /* opcode and a 32-bit displacement */

/* More than an allocator has: then the rule does not fit this library, and nothing is assumed about it. */
#define MAX_CALLS 16

/* A C library's code is a few megabytes; what is larger was not made to be searched. */
#define MAX_CODE (64u << 20)

struct search {
	const struct found_functions *found;
	const struct rules *rules;
	const uint8_t *code;
	size_t n_code;
	uint64_t file_offset; /* of code[0] */
	struct internal_call *calls;
	size_t n_calls;
};

/* Is there an instruction boundary at `at`? Unwind rows begin at boundaries: decode from the last one before. */
static bool begins_instruction(const struct search *search, size_t at)
{
	uint64_t offset = search->file_offset + at;
	ZydisDecoder decoder;
	size_t from, low = 0, high = search->rules->n_rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (RULE_OFFSET(search->rules->rows[middle]) <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || RULE_OFFSET(search->rules->rows[low - 1]) < search->file_offset)
		return false;
	from = RULE_OFFSET(search->rules->rows[low - 1]) - search->file_offset;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (from < at) {
		ZydisDecodedInstruction instruction;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
			    &decoder, NULL, search->code + from, search->n_code - from, &instruction)))
			return false;
		from += instruction.length;
	}
	return from == at;
}

static bool is_free_at(const struct search *search, uint64_t svma)
{
	for (size_t i = 0; i < search->found->n_functions; i++)
		if (search->found->functions[i].svma == svma &&
			allocator_function_is_free(search->found->functions[i].function))
			return true;
	return false;
}

static int scan(struct search *search, uint64_t svma)
{
	for (size_t at = 0; at + LENGTH <= search->n_code; at++) {
		int32_t displacement;
		struct internal_call *grown;

		if (search->code[at] != OPCODE_CALL && search->code[at] != OPCODE_JUMP)
			continue;
		memcpy(&displacement, search->code + at + 1, sizeof(displacement));
		if (!is_free_at(search, svma + at + LENGTH + displacement) || !begins_instruction(search, at))
			continue;
		grown = reallocarray(search->calls, search->n_calls + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		search->calls = grown;
		search->calls[search->n_calls++] = (struct internal_call){
			.file_offset = search->file_offset + at,
			.pushed = search->code[at] == OPCODE_CALL ? 8 : 0,
		};
		if (search->n_calls > MAX_CALLS)
			return 0;
	}
	return 0;
}

static int scan_segment(struct search *search, int fd, const struct found_segment *segment)
{
	CLEANUP_FREE uint8_t *code = malloc(segment->n_bytes + 1);
	ssize_t n;
	int r;

	if (!code)
		return -ENOMEM;
	n = pread(fd, code, segment->n_bytes, segment->file_offset);
	if (n < 0)
		return -errno;
	search->code = code;
	search->n_code = n;
	search->file_offset = segment->file_offset;
	r = scan(search, segment->svma);
	search->code = NULL;
	return r;
}

int internal_calls_find(int fd, const struct found_functions *found, const struct rules *rules, struct internal_call **ret_calls,
	size_t *ret_n)
{
	struct search search = {.found = found, .rules = rules};
	int r = 0;

	if (found->is_shared_library && found->code.n_bytes && found->code.n_bytes <= MAX_CODE)
		r = scan_segment(&search, fd, &found->code);
	if (r) {
		free(search.calls);
		return r;
	}
	if (search.n_calls > MAX_CALLS)
		search.n_calls = 0;
	*ret_calls = search.calls;
	*ret_n = search.n_calls;
	return 0;
}

#else

int internal_calls_find(int fd, const struct found_functions *found, const struct rules *rules, struct internal_call **ret_calls,
	size_t *ret_n)
{
	(void)fd;
	(void)found;
	(void)rules;
	*ret_calls = NULL;
	*ret_n = 0;
	return 0;
}

#endif
