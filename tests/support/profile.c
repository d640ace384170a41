/* profile.c: loading a profile folder. */
#include "support/profile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "support/memory.h"
#include "util/cleanup.h"

#define SUFFIX ".MemtrackArtifact.msgpack"

static bool is_artifact(const char *name)
{
	size_t n = strlen(name);

	return n > strlen(SUFFIX) && strcmp(name + n - strlen(SUFFIX), SUFFIX) == 0;
}

static int find_artifact(const char *folder, char **ret_path)
{
	CLEANUP_FREE char *results = test_text("%s/results", folder);
	CLEANUP_CLOSEDIR DIR *listing = opendir(results);
	char *path = NULL;

	if (!listing)
		return -errno;
	for (struct dirent *entry; (entry = readdir(listing));) {
		if (!is_artifact(entry->d_name))
			continue;
		if (path) {
			free(path);
			return -EEXIST;
		}
		path = test_text("%s/%s", results, entry->d_name);
	}
	if (!path)
		return -ENOENT;
	*ret_path = path;
	return 0;
}

static void keep_call(struct profile *profile, const struct event *event)
{
	profile->calls = test_grow(profile->calls, profile->n_calls, sizeof(*profile->calls));
	profile->calls[profile->n_calls++] = (struct heap_event){.pid = event->pid,
	        .tid = event->tid,
	        .type = event->type,
	        .size = event->size,
	        .old_addr = event->old_addr,
	        .addr = event->addr,
	        .stack_hash = event->stack_hash,
	        .timestamp = event->timestamp};
}

static void keep_definition(struct profile *profile, const struct event *event)
{
	struct profile_definition *definition;

	profile->definitions =
	        test_grow(profile->definitions, profile->n_definitions, sizeof(*profile->definitions));
	definition = &profile->definitions[profile->n_definitions++];
	*definition = (struct profile_definition){.hash = event->stack.hash,
	        .timestamp = event->timestamp,
	        .sp = event->stack.sp,
	        .pc = event->stack.regs[EVENT_REG_X86_RIP],
	        .n_bytes = event->stack.n_bytes,
	        .n_fp_chain = event->stack.n_fp_chain,
	        .pid = event->pid,
	        .truncated = event->stack.truncated};
	for (size_t i = 0; i < 2 && i < event->stack.n_fp_chain; i++)
		definition->fp_chain[i] = event->stack.fp_chain[i];
}

static void keep_other(struct profile *profile, const struct event *event)
{
	struct profile_other *other;

	profile->others = test_grow(profile->others, profile->n_others, sizeof(*profile->others));
	other = &profile->others[profile->n_others++];
	*other = (struct profile_other){.type = event->type,
	        .pid = event->pid,
	        .tid = event->tid,
	        .timestamp = event->timestamp,
	        .addr = event->addr,
	        .size = event->size,
	        .parent_pid = event->parent_pid,
	        .shares_memory = event->shares_memory};
	if (event->type == EVENT_MAPPING) {
		other->size = event->mapping.len;
		other->path = strndup(event->mapping.path, event->mapping.n_path);
	}
}

static int read_artifact(struct profile *profile, const char *path)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct artifact_reader *reader = NULL;
	struct event event;
	int result;

	if (fd < 0)
		return -errno;
	result = artifact_reader_new(fd, &reader);
	if (result < 0)
		return result;
	while ((result = artifact_reader_next(reader, &event)) == ARTIFACT_EVENT) {
		if (event.type <= EVENT_FREE)
			keep_call(profile, &event);
		else if (event.type == EVENT_STACK_DEFINITION)
			keep_definition(profile, &event);
		else
			keep_other(profile, &event);
	}
	profile->end = result;
	profile->n_unknown = artifact_reader_n_unknown(reader);
	profile->n_malformed = artifact_reader_n_malformed(reader);
	artifact_reader_free(reader);
	return 0;
}

static struct json_object *read_json(const char *folder, const char *name)
{
	CLEANUP_FREE char *path = test_text("%s/%s", folder, name);

	return access(path, R_OK) == 0 ? json_object_from_file(path) : NULL;
}

int profile_load(const char *folder, struct profile *ret_profile)
{
	struct profile profile = {0};
	CLEANUP_FREE char *path = NULL;
	int result = find_artifact(folder, &path);

	if (result < 0)
		return result;
	result = read_artifact(&profile, path);
	if (result < 0)
		return result;
	profile.folder = test_text("%s", folder);
	profile.metadata = read_json(folder, "memory_metadata.json");
	profile.summary = read_json(folder, "summary.json");
	*ret_profile = profile;
	return 0;
}

void profile_deinit(struct profile *profile)
{
	for (size_t i = 0; i < profile->n_others; i++)
		free(profile->others[i].path);
	free(profile->others);
	free(profile->definitions);
	free(profile->calls);
	free(profile->folder);
	json_object_put(profile->metadata);
	json_object_put(profile->summary);
	*profile = (struct profile){0};
}
