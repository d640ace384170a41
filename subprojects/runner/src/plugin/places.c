/* places.c: the directories where instruments are looked for. */
#include "plugin/places.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cleanup.h"

/* Where meson puts the runner, below the build directory, and the instruments from there. */
#define BUILD_TREE_RUNNER  "/subprojects/runner"
#define BUILD_TREE_PLUGINS "/plugin"

static int add(struct places *places, const char *directory, size_t length)
{
	char **directories =
	        reallocarray(places->directories, places->n_directories + 1, sizeof(*directories));
	char *copy;

	if (!directories)
		return -ENOMEM;
	places->directories = directories;
	copy = strndup(directory, length);
	if (!copy)
		return -ENOMEM;
	directories[places->n_directories++] = copy;
	return 0;
}

static int add_path(struct places *places, const char *path)
{
	int error = 0;

	while (path && error == 0) {
		size_t length = strcspn(path, ":");

		if (length)
			error = add(places, path, length);
		path = path[length] ? path + length + 1 : NULL;
	}
	return error;
}

static int add_build_tree(struct places *places)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof(BUILD_TREE_PLUGINS));
	char *name;
	size_t n_directory;

	if (length < 0)
		return 0;
	path[length] = '\0';
	name = strrchr(path, '/');
	if (!name)
		return 0;
	*name = '\0';
	n_directory = strlen(path);
	if (n_directory < strlen(BUILD_TREE_RUNNER) ||
	        strcmp(path + n_directory - strlen(BUILD_TREE_RUNNER), BUILD_TREE_RUNNER))
		return 0;
	strcpy(path + n_directory - strlen(BUILD_TREE_RUNNER), BUILD_TREE_PLUGINS);
	return add(places, path, strlen(path));
}

int places_init(struct places *ret_places, const char *plugin_dir)
{
	struct places places = {0};
	int error = plugin_dir ? add(&places, plugin_dir, strlen(plugin_dir)) : 0;

	if (error == 0)
		error = add_path(&places, getenv("RUNNER_PLUGIN_PATH"));
	if (error == 0)
		error = add_build_tree(&places);
	if (error == 0)
		error = add(&places, RUNNER_PLUGIN_DIR, strlen(RUNNER_PLUGIN_DIR));
	if (error < 0)
		places_deinit(&places);
	else
		*ret_places = places;
	return error;
}

void places_deinit(struct places *places)
{
	for (size_t i = 0; i < places->n_directories; i++)
		free(places->directories[i]);
	free(places->directories);
	*places = (struct places){0};
}

char *places_list(const struct places *places)
{
	char *list = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&list, &size);

	if (!stream)
		return NULL;
	for (size_t i = 0; i < places->n_directories; i++)
		fprintf(stream, "%s%s", i ? ", " : "", places->directories[i]);
	if (fclose(stream)) {
		free(list);
		return NULL;
	}
	return list;
}
