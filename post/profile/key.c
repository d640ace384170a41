/* key.c: the names of modules in a profile. */
#include "profile/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

#define KEY_MAX 200

char *key_make(size_t index, const char *path, size_t n_path)
{
	const char *slash = memrchr(path, '/', n_path), *name = slash ? slash + 1 : path;
	size_t n_name = n_path - (size_t)(name - path), at;
	char *key = malloc(KEY_MAX + 1);

	if (!key)
		return NULL;
	at = (size_t)snprintf(key, KEY_MAX + 1, "%zu__", index);
	while (n_name > 0) {
		size_t length = utf8_length(name, n_name), n_used = length ? length : 1;

		if (at + n_used > KEY_MAX)
			break;
		if (length == 0 || (unsigned char)*name < ' ' || *name == '\x7f')
			key[at] = '_';
		else
			memcpy(key + at, name, length);
		at += n_used;
		name += n_used;
		n_name -= n_used;
	}
	key[at] = '\0';
	return key;
}
