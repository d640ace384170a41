/* json_out.c: a JSON document that is written as it is made. */
#include "profile/json_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/utf8.h"

static void put_value(struct json_out *out, json_object *value)
{
	const char *text = json_object_to_json_string_ext(
	        value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	if (text)
		fputs(text, out->file);
	else
		out->error = -ENOMEM;
}

static void put_text(struct json_out *out, const char *text)
{
	CLEANUP_FREE char *clean = utf8_clean(text, strlen(text));
	json_object *value = clean ? json_object_new_string(clean) : NULL;

	if (value)
		put_value(out, value);
	else
		out->error = -ENOMEM;
	json_object_put(value);
}

static void begin_member(struct json_out *out, const char *key)
{
	if (out->error)
		return;
	if (!out->is_first)
		fputs(",\n", out->file);
	out->is_first = false;
	if (!key)
		return;
	put_text(out, key);
	putc(':', out->file);
}

void json_out_begin(struct json_out *out, const char *key, char bracket)
{
	begin_member(out, key);
	if (!out->error)
		putc(bracket, out->file);
	out->is_first = true;
}

void json_out_end(struct json_out *out, char bracket)
{
	if (!out->error)
		putc(bracket, out->file);
	out->is_first = false;
}

void json_out_value(struct json_out *out, const char *key, json_object *value, bool is_made)
{
	if (!is_made)
		out->error = -ENOMEM;
	begin_member(out, key);
	if (!out->error)
		put_value(out, value);
	json_object_put(value);
}

void json_out_text(struct json_out *out, const char *key, const char *text)
{
	begin_member(out, key);
	if (!out->error)
		put_text(out, text);
}

void json_out_number(struct json_out *out, const char *key, uint64_t number)
{
	json_object *value = json_object_new_uint64(number);

	json_out_value(out, key, value, value);
}

void json_out_raw(struct json_out *out, const char *members)
{
	begin_member(out, NULL);
	if (!out->error)
		fputs(members, out->file);
}
