/* loader.c: finds and loads an instrument. */
#include "plugin/loader.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "plugin/places.h"
#include "util/cleanup.h"

#define N_NAME_MAX    64
#define N_OPTIONS_MAX 256

/* A name becomes part of a path: nothing in it may lead elsewhere. Options have the same form. */
static bool is_name(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length > N_NAME_MAX || !isalnum((unsigned char)*name))
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

/* Users can mount file systems, where they choose the owners, but only ones that grant no rights (nosuid). */
static bool is_trusted(int fd)
{
	struct stat status;
	struct statvfs system;

	return fstat(fd, &status) == 0 && fstatvfs(fd, &system) == 0 && status.st_uid == 0 &&
	       !(status.st_mode & (S_IWGRP | S_IWOTH)) && !(system.f_flag & ST_NOSUID);
}

/* Loads what was checked, through its descriptor, whatever has been put under its name since. */
static int load_trusted(
        const char *directory, const char *name, const char *path, struct console *console, void **ret_handle)
{
	int directory_fd CLEANUP_CLOSE = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd CLEANUP_CLOSE =
	        directory_fd < 0 ? -1 : openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char own_path[64];

	if (fd < 0 || !is_trusted(directory_fd) || !is_trusted(fd)) {
		console_error(console,
		        "%s is not loaded with more rights than the caller has: it and its folder must "
		        "belong to root, be "
		        "writable by no one else, and not be on a nosuid file system",
		        path);
		return -EPERM;
	}
	snprintf(own_path, sizeof(own_path), "/proc/self/fd/%d", fd);
	*ret_handle = dlopen(own_path, RTLD_NOW | RTLD_LOCAL);
	return *ret_handle ? 0 : -ELIBBAD;
}

static int open_library(
        const char *directory, const char *name, const char *path, struct console *console, void **ret_handle)
{
	void *handle = NULL;

	if (getauxval(AT_SECURE)) {
		int error = load_trusted(directory, name, path, console, &handle);

		if (error == -EPERM)
			return error;
	} else {
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	if (!handle) {
		console_error(console, "cannot load the instrument %s: %s", path, dlerror());
		return -ELIBBAD;
	}
	*ret_handle = handle;
	return 0;
}

static bool are_options_sound(const struct runner_plugin *api)
{
	if (api->n_options > N_OPTIONS_MAX || (api->n_options > 0 && !api->options))
		return false;
	for (uint32_t i = 0; i < api->n_options; i++)
		if (!api->options[i].name || !api->options[i].help || !is_name(api->options[i].name))
			return false;
	return true;
}

/* What later code relies on without looking again; NULL: all is well. */
static const char *find_fault(const struct runner_plugin *api, const char *instrument)
{
	if (!api->name || !api->version || !api->summary)
		return "it has no name, version or summary";
	if (strcmp(api->name, instrument))
		return "it is another instrument";
	if (!api->open || !api->pre_exec || !api->start || !api->stop || !api->figures || !api->post_exec ||
	        !api->close)
		return "a function is missing";
	if (!are_options_sound(api))
		return "its list of options is not sound";
	return NULL;
}

static int check_api(
        const struct runner_plugin *api, const char *path, const char *instrument, struct console *console)
{
	const char *fault;

	if (api->abi_major != RUNNER_ABI_MAJOR) {
		console_error(console,
		        "the instrument %s was built for plugin ABI %u, this runner has ABI %u", path,
		        api->abi_major, RUNNER_ABI_MAJOR);
		return -EPROTO;
	}
	if (api->size < RUNNER_PLUGIN_SIZE_MIN) {
		console_error(console,
		        "the instrument %s describes itself in %u bytes, plugin ABI %u takes at least %u", path,
		        api->size, RUNNER_ABI_MAJOR, RUNNER_PLUGIN_SIZE_MIN);
		return -EPROTO;
	}
	fault = find_fault(api, instrument);
	if (fault) {
		console_error(console, "the instrument %s is not usable: %s", path, fault);
		return -EPROTO;
	}
	return 0;
}

/* -ENOENT: the directory does not have it; nothing is said then. */
static int load_from(const char *directory, const char *instrument, struct console *console,
        const struct runner_plugin **ret_api)
{
	char *name CLEANUP_FREE = NULL;
	char *path CLEANUP_FREE = NULL;
	const struct runner_plugin *api;
	void *handle;
	int error;

	if (asprintf(&name, "runner-%s.so", instrument) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	/* What cannot be looked at is for dlopen to explain. */
	if (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return -ENOENT;
	error = open_library(directory, name, path, console, &handle);
	if (error < 0)
		return error;
	api = dlsym(handle, RUNNER_PLUGIN_SYMBOL);
	if (!api) {
		console_error(
		        console, "%s is not an instrument: it has no symbol %s", path, RUNNER_PLUGIN_SYMBOL);
		return -EPROTO;
	}
	error = check_api(api, path, instrument, console);
	if (error == 0)
		*ret_api = api;
	return error;
}

int loader_load(const char *instrument, const char *plugin_dir, struct console *console,
        const struct runner_plugin **ret_api)
{
	struct places places CLEANUP(places_deinit) = {0};
	char *list CLEANUP_FREE = NULL;
	int error;

	if (!is_name(instrument)) {
		console_error(console,
		        "'%s' cannot be an instrument: a name has small letters, digits and '-'", instrument);
		return -EINVAL;
	}
	error = places_init(&places, plugin_dir);
	if (error < 0)
		return error;
	error = -ENOENT;
	for (size_t i = 0; i < places.n_directories && error == -ENOENT; i++)
		error = load_from(places.directories[i], instrument, console, ret_api);
	if (error == -ENOENT) {
		list = places_list(&places);
		console_error(console, "there is no instrument '%s': no runner-%s.so in %s", instrument,
		        instrument, list ? list : "any place");
	}
	return error;
}

const char *loader_path(const struct runner_plugin *api)
{
	Dl_info info;

	return dladdr(api, &info) && info.dli_fname ? info.dli_fname : "memory";
}
