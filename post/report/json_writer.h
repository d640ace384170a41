/* json_writer.h: JSON to a stream as it comes, since exports may be larger than memory should be.
 *
 * Output is valid UTF-8 whatever the strings hold: bytes that are none become U+FFFD. `<`, `>` and `&` are
 * written as escapes, so that the result may stand inside a <script> element. Errors of the stream stay with
 * it: look at ferror at the end.
 */
#ifndef POST_REPORT_JSON_WRITER_H
#define POST_REPORT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_DEPTH 16

struct json_writer {
	FILE *out;
	bool pretty; /* one member a line */
	unsigned depth;
	bool has_members[JSON_MAX_DEPTH];
	bool after_key;
};

void json_writer_init(struct json_writer *json, FILE *out, bool pretty);

/* Values; inside an object, json_key comes before each. */
void json_key(struct json_writer *json, const char *key);
void json_string(struct json_writer *json, const char *text); /* NULL: null */
void json_uint(struct json_writer *json, uint64_t value);
void json_int(struct json_writer *json, int64_t value);
void json_bool(struct json_writer *json, bool value);

void json_object_begin(struct json_writer *json);
void json_object_end(struct json_writer *json);
void json_array_begin(struct json_writer *json);
void json_array_end(struct json_writer *json);

/* A key and its value. */
void json_member_string(struct json_writer *json, const char *key, const char *text);
void json_member_uint(struct json_writer *json, const char *key, uint64_t value);
void json_member_bool(struct json_writer *json, const char *key, bool value);

#endif
