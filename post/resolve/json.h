/* json.h: json-c values that are what they should be, or nothing. */
#ifndef POST_RESOLVE_JSON_H
#define POST_RESOLVE_JSON_H

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* The member of that type, or NULL. Borrowed. */
static inline struct json_object *json_member(
        struct json_object *object, const char *name, enum json_type type)
{
	struct json_object *member;

	if (!json_object_is_type(object, json_type_object) ||
	        !json_object_object_get_ex(object, name, &member) || !json_object_is_type(member, type))
		return NULL;
	return member;
}

/* A non-negative integer; false for anything else. */
static inline bool json_to_uint64(struct json_object *value, uint64_t *ret_value)
{
	if (!json_object_is_type(value, json_type_int))
		return false;
	/* json-c gives 0 for negative numbers here. */
	if (json_object_get_int64(value) < 0)
		return false;
	*ret_value = json_object_get_uint64(value);
	return true;
}

static inline bool json_member_uint64(struct json_object *object, const char *name, uint64_t *ret_value)
{
	struct json_object *member = json_member(object, name, json_type_int);

	return member && json_to_uint64(member, ret_value);
}

#endif
