/* json_writer.c: JSON by RFC 8259. */
#include "report/json_writer.h"

#include <assert.h>
#include <inttypes.h>

#include "util/utf8.h"

void json_writer_init(struct json_writer *json, FILE *out, bool pretty)
{
	*json = (struct json_writer){.out = out, .pretty = pretty};
}

static void new_line(struct json_writer *json)
{
	if (!json->pretty)
		return;
	putc('\n', json->out);
	for (unsigned i = 0; i < json->depth; i++)
		fputs("  ", json->out);
}

/* What separates a member from the one before. */
static void separate(struct json_writer *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (!json->depth)
		return;
	if (json->has_members[json->depth - 1])
		putc(',', json->out);
	json->has_members[json->depth - 1] = true;
	new_line(json);
}

static void put_character(FILE *out, uint32_t character, const char *bytes, size_t n)
{
	if (character == '"' || character == '\\')
		fprintf(out, "\\%c", (char)character);
	else if (character == '\n')
		fputs("\\n", out);
	else if (character == '\t')
		fputs("\\t", out);
	else if (character < 0x20 || character == 0x7f || character == '<' || character == '>' ||
	         character == '&' || character == 0x2028 || character == 0x2029)
		fprintf(out, "\\u%04" PRIx32, character);
	else
		fwrite(bytes, 1, n, out);
}

static void put_text(FILE *out, const char *text)
{
	const char *start;
	uint32_t character;
	bool valid;

	putc('"', out);
	while (*text) {
		start = text;
		character = utf8_next(&text, &valid);
		if (valid)
			put_character(out, character, start, (size_t)(text - start));
		else
			fputs("\xef\xbf\xbd", out);
	}
	putc('"', out);
}

void json_put_key(struct json_writer *json, const char *key)
{
	separate(json);
	put_text(json->out, key);
	fputs(json->pretty ? ": " : ":", json->out);
	json->after_key = true;
}

void json_put_string(struct json_writer *json, const char *text)
{
	separate(json);
	if (text)
		put_text(json->out, text);
	else
		fputs("null", json->out);
}

void json_put_uint(struct json_writer *json, uint64_t value)
{
	separate(json);
	fprintf(json->out, "%" PRIu64, value);
}

void json_put_int(struct json_writer *json, int64_t value)
{
	separate(json);
	fprintf(json->out, "%" PRId64, value);
}

void json_put_bool(struct json_writer *json, bool value)
{
	separate(json);
	fputs(value ? "true" : "false", json->out);
}

static void begin(struct json_writer *json, char bracket)
{
	separate(json);
	putc(bracket, json->out);
	assert(json->depth < JSON_MAX_DEPTH);
	json->has_members[json->depth++] = false;
}

static void end(struct json_writer *json, char bracket)
{
	assert(json->depth);
	json->depth--;
	if (json->has_members[json->depth])
		new_line(json);
	putc(bracket, json->out);
	if (!json->depth && json->pretty)
		putc('\n', json->out);
}

void json_begin_object(struct json_writer *json)
{
	begin(json, '{');
}

void json_end_object(struct json_writer *json)
{
	end(json, '}');
}

void json_begin_array(struct json_writer *json)
{
	begin(json, '[');
}

void json_end_array(struct json_writer *json)
{
	end(json, ']');
}

void json_member_string(struct json_writer *json, const char *key, const char *text)
{
	json_put_key(json, key);
	json_put_string(json, text);
}

void json_member_uint(struct json_writer *json, const char *key, uint64_t value)
{
	json_put_key(json, key);
	json_put_uint(json, value);
}

void json_member_bool(struct json_writer *json, const char *key, bool value)
{
	json_put_key(json, key);
	json_put_bool(json, value);
}
