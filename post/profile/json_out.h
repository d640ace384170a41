/* json_out.h: a JSON document that is written as it is made: only its leaves are objects of json-c. */
#ifndef POST_PROFILE_JSON_OUT_H
#define POST_PROFILE_JSON_OUT_H

#include <json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A document under way. An error is kept, and everything after it does nothing. */
struct json_out {
	FILE *file;
	int error;
	bool is_first; /* in the innermost object or array */
};

/* Begins the next member: `key` NULL inside an array. `bracket`: '{' or '['. */
void json_out_begin(struct json_out *out, const char *key, char bracket);
void json_out_end(struct json_out *out, char bracket);

/* A member. `value` is given away; is_made false: it could not be made (json-c has NULL for null). */
void json_out_value(struct json_out *out, const char *key, json_object *value, bool is_made);

/* A text of any bytes: what is not UTF-8 becomes U+FFFD. */
void json_out_text(struct json_out *out, const char *key, const char *text);
void json_out_number(struct json_out *out, const char *key, uint64_t number);

/* Members that are JSON already, with commas between them. */
void json_out_raw(struct json_out *out, const char *members);

#endif
