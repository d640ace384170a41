/* untraced.c: a short list with a lock. */
#include "track/untraced.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	char *path;
	char *reason;
	uint32_t pid;
};

struct untraced {
	pthread_mutex_t lock;
	const struct log_sink *log;
	struct entry *entries;
	size_t n_entries;
};

int untraced_new(const struct log_sink *log, struct untraced **ret_untraced)
{
	struct untraced *untraced = calloc(1, sizeof(*untraced));

	if (!untraced)
		return -ENOMEM;
	pthread_mutex_init(&untraced->lock, NULL);
	untraced->log = log;
	*ret_untraced = untraced;
	return 0;
}

/* A name that memory ran out for is still an entry. */
static char unknown[] = "?";

static char *copy_or_unknown(const char *text)
{
	char *copy = strdup(text);

	return copy ? copy : unknown;
}

static void free_copy(char *text)
{
	if (text != unknown)
		free(text);
}

static struct entry *append(struct untraced *untraced)
{
	struct entry *grown = reallocarray(untraced->entries, untraced->n_entries + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	untraced->entries = grown;
	return &grown[untraced->n_entries++];
}

void untraced_add(struct untraced *untraced, const char *path, uint32_t pid, const char *reason)
{
	struct entry *entry;

	pthread_mutex_lock(&untraced->lock);
	for (size_t i = 0; i < untraced->n_entries; i++)
		if (!strcmp(untraced->entries[i].path, path) && !strcmp(untraced->entries[i].reason, reason))
			goto out;
	entry = append(untraced);
	if (entry)
		*entry = (struct entry){.path = copy_or_unknown(path), .reason = copy_or_unknown(reason), .pid = pid};
	log_warning(untraced->log, "not traced: %s (process %u): %s", path, pid, reason);
out:
	pthread_mutex_unlock(&untraced->lock);
}

size_t untraced_count(struct untraced *untraced)
{
	size_t n;

	pthread_mutex_lock(&untraced->lock);
	n = untraced->n_entries;
	pthread_mutex_unlock(&untraced->lock);
	return n;
}

struct untraced_entry untraced_get(struct untraced *untraced, size_t index)
{
	struct untraced_entry view;

	pthread_mutex_lock(&untraced->lock);
	view = (struct untraced_entry){
		.path = untraced->entries[index].path,
		.reason = untraced->entries[index].reason,
		.pid = untraced->entries[index].pid,
	};
	pthread_mutex_unlock(&untraced->lock);
	return view;
}

struct untraced *untraced_free(struct untraced *untraced)
{
	if (!untraced)
		return NULL;
	for (size_t i = 0; i < untraced->n_entries; i++) {
		free_copy(untraced->entries[i].path);
		free_copy(untraced->entries[i].reason);
	}
	free(untraced->entries);
	pthread_mutex_destroy(&untraced->lock);
	free(untraced);
	return NULL;
}
