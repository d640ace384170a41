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

/* Values; inside an object, json_put_key comes before each. */
void json_put_key(struct json_writer *json, const char *key);
void json_put_string(struct json_writer *json, const char *text); /* NULL: null */
void json_put_uint(struct json_writer *json, uint64_t value);
void json_put_int(struct json_writer *json, int64_t value);
void json_put_bool(struct json_writer *json, bool value);

void json_begin_object(struct json_writer *json);
void json_end_object(struct json_writer *json);
void json_begin_array(struct json_writer *json);
void json_end_array(struct json_writer *json);

/* A key and its value. */
void json_member_string(struct json_writer *json, const char *key, const char *text);
void json_member_uint(struct json_writer *json, const char *key, uint64_t value);
void json_member_bool(struct json_writer *json, const char *key, bool value);

#endif
