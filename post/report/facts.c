/* facts.c: memory_metadata.json by json-c. */
#include "report/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/cleanup.h"
#include "util/file.h"
#include "util/grow.h"

/* json-c takes lengths as int. */
#define MAX_FILE_BYTES INT32_MAX

static void cleanup_json(struct json_object **object)
{
	json_object_put(*object);
}

/* A copy of the string `key` of `object`; of `otherwise` where there is none. NULL: no memory. */
static char *copy_text(struct json_object *object, const char *key, const char *otherwise)
{
	struct json_object *value;

	if (json_object_object_get_ex(object, key, &value) && json_object_is_type(value, json_type_string))
		return strdup(json_object_get_string(value));
	return strdup(otherwise);
}

static bool read_pid(const char *text, uint32_t *ret_pid)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text < '0' || *text > '9' || value > UINT32_MAX)
		return false;
	*ret_pid = (uint32_t)value;
	return true;
}

static int compare_names(const void *left, const void *right)
{
	const struct fact_name *a = left, *b = right;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int read_names(struct facts *facts, struct json_object *names)
{
	struct fact_name name;
	int error;

	json_object_object_foreach(names, key, value)
	{
		if (!read_pid(key, &name.pid) || !json_object_is_type(value, json_type_string))
			continue;
		error = GROW_BY_ONE(facts->names, facts->n_names_allocated, facts->n_names);
		if (error < 0)
			return error;
		name.name = strdup(json_object_get_string(value));
		if (!name.name)
			return -ENOMEM;
		facts->names[facts->n_names++] = name;
	}
	if (facts->n_names)
		qsort(facts->names, facts->n_names, sizeof(*facts->names), compare_names);
	return 0;
}

static int read_lost(struct facts *facts, struct json_object *lost)
{
	uint64_t n;
	int error;

	json_object_object_foreach(lost, key, value)
	{
		n = json_object_get_uint64(value);
		if (!json_object_is_type(value, json_type_int) || !n)
			continue;
		error = GROW_BY_ONE(facts->lost, facts->n_lost_allocated, facts->n_lost);
		if (error < 0)
			return error;
		facts->lost[facts->n_lost] = (struct fact_lost){.counter = strdup(key), .n = n};
		if (!facts->lost[facts->n_lost].counter)
			return -ENOMEM;
		facts->n_lost++;
	}
	return 0;
}

static int read_not_traced(struct facts *facts, struct json_object *list)
{
	struct json_object *item, *pid;
	struct fact_not_traced *entry;
	int error;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		item = json_object_array_get_idx(list, i);
		if (!json_object_is_type(item, json_type_object))
			continue;
		error = GROW_BY_ONE(facts->not_traced, facts->n_not_traced_allocated, facts->n_not_traced);
		if (error < 0)
			return error;
		entry = &facts->not_traced[facts->n_not_traced++];
		*entry = (struct fact_not_traced){
		        .path = copy_text(item, "path", "?"), .reason = copy_text(item, "reason", "?")};
		if (json_object_object_get_ex(item, "pid", &pid))
			entry->pid = (uint32_t)json_object_get_uint64(pid);
		if (!entry->path || !entry->reason)
			return -ENOMEM;
	}
	return 0;
}

static int read_unreadable(struct facts *facts, struct json_object *list, struct json_object *paths)
{
	struct json_object *item, *key;
	struct fact_unreadable *entry;
	const char *name;
	int error;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		item = json_object_array_get_idx(list, i);
		if (!json_object_object_get_ex(item, "key", &key) ||
		        !json_object_is_type(key, json_type_string))
			continue;
		error = GROW_BY_ONE(facts->unreadable, facts->n_unreadable_allocated, facts->n_unreadable);
		if (error < 0)
			return error;
		name = json_object_get_string(key);
		entry = &facts->unreadable[facts->n_unreadable++];
		*entry = (struct fact_unreadable){
		        .path = copy_text(paths, name, name), .reason = copy_text(item, "reason", "?")};
		if (!entry->path || !entry->reason)
			return -ENOMEM;
	}
	return 0;
}

static int read_integration(struct facts *facts, struct json_object *list)
{
	struct json_object *name = json_object_array_get_idx(list, 0);
	struct json_object *version = json_object_array_get_idx(list, 1);

	if (!json_object_is_type(name, json_type_string) || !json_object_is_type(version, json_type_string) ||
	        !*json_object_get_string(name))
		return 0;
	facts->integration_name = strdup(json_object_get_string(name));
	facts->integration_version = strdup(json_object_get_string(version));
	return facts->integration_name && facts->integration_version ? 0 : -ENOMEM;
}

/* The member `key` if it has that type, else NULL. */
static struct json_object *member(struct json_object *root, const char *key, enum json_type type)
{
	struct json_object *value;

	if (!json_object_object_get_ex(root, key, &value) || !json_object_is_type(value, type))
		return NULL;
	return value;
}

static int read_root(struct facts *facts, struct json_object *root)
{
	struct json_object *value;
	int error = 0;

	value = member(root, "arch", json_type_string);
	if (value) {
		facts->arch = strdup(json_object_get_string(value));
		if (!facts->arch)
			return -ENOMEM;
	}
	value = member(root, "integration", json_type_array);
	if (value)
		error = read_integration(facts, value);
	value = member(root, "process_names", json_type_object);
	if (value && !error)
		error = read_names(facts, value);
	value = member(root, "lost", json_type_object);
	if (value && !error)
		error = read_lost(facts, value);
	value = member(root, "not_traced", json_type_array);
	if (value && !error)
		error = read_not_traced(facts, value);
	value = member(root, "unreadable", json_type_array);
	if (value && !error)
		error = read_unreadable(facts, value, member(root, "path_key_to_path", json_type_object));
	return error;
}

static int read_whole(int fd, char **ret_text, size_t *ret_n)
{
	CLEANUP_FREE char *text = NULL;
	struct stat info;
	ssize_t n;

	if (fstat(fd, &info) < 0)
		return -errno;
	if (!S_ISREG(info.st_mode))
		return -EBADMSG;
	if (info.st_size >= MAX_FILE_BYTES)
		return -EFBIG;
	text = malloc((size_t)info.st_size + 1);
	if (!text)
		return -ENOMEM;
	n = file_read_up_to(fd, text, (size_t)info.st_size);
	if (n < 0)
		return (int)n;
	*ret_n = (size_t)n;
	*ret_text = STEAL_PTR(text);
	return 0;
}

int facts_read(int profile_fd, struct facts *ret_facts)
{
	CLEANUP_CLOSE int fd = openat(profile_fd, "memory_metadata.json", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	CLEANUP(cleanup_json) struct json_object *root = NULL;
	CLEANUP_FREE char *text = NULL;
	struct json_tokener *tokener;
	struct facts facts = {0};
	size_t n = 0;
	int error;

	if (fd < 0)
		return -errno;
	error = read_whole(fd, &text, &n);
	if (error < 0)
		return error;
	tokener = json_tokener_new();
	if (!tokener)
		return -ENOMEM;
	root = json_tokener_parse_ex(tokener, text, (int)n);
	json_tokener_free(tokener);
	if (!json_object_is_type(root, json_type_object))
		return -EBADMSG;
	error = read_root(&facts, root);
	if (error < 0)
		facts_deinit(&facts);
	else
		*ret_facts = facts;
	return error;
}

const char *facts_process_name(const struct facts *facts, uint32_t pid)
{
	struct fact_name key = {.pid = pid};
	const struct fact_name *found;

	if (!facts->n_names)
		return NULL;
	found = bsearch(&key, facts->names, facts->n_names, sizeof(key), compare_names);
	return found ? found->name : NULL;
}

uint64_t facts_n_lost(const struct facts *facts)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < facts->n_lost; i++)
		if (__builtin_add_overflow(sum, facts->lost[i].n, &sum))
			return UINT64_MAX;
	return sum;
}

void facts_deinit(struct facts *facts)
{
	size_t i;

	for (i = 0; i < facts->n_names; i++)
		free(facts->names[i].name);
	for (i = 0; i < facts->n_lost; i++)
		free(facts->lost[i].counter);
	for (i = 0; i < facts->n_not_traced; i++) {
		free(facts->not_traced[i].path);
		free(facts->not_traced[i].reason);
	}
	for (i = 0; i < facts->n_unreadable; i++) {
		free(facts->unreadable[i].path);
		free(facts->unreadable[i].reason);
	}
	free(facts->names);
	free(facts->lost);
	free(facts->not_traced);
	free(facts->unreadable);
	free(facts->arch);
	free(facts->integration_name);
	free(facts->integration_version);
	*facts = (struct facts){0};
}
