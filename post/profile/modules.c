/* modules.c: the files that were mapped during a run, each once. */
#include "profile/modules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/key.h"
#include "util/grow.h"
#include "util/utf8.h"

#define MODULES_MAX 65536 /* a run with more is not a real one */

/* Files are looked up under a number made of both; others that have the same one follow under the next ones.
 */
static uint64_t file_number(uint64_t dev, uint64_t ino)
{
	return (dev * UINT64_C(0xff51afd7ed558ccd)) ^ (ino * UINT64_C(0xc4ceb9fe1a85ec53));
}

int modules_init(struct modules *modules, const struct dump_request *request)
{
	modules->request = request;
	for (size_t i = 0; i < request->n_sources; i++) {
		uint64_t number = file_number(request->sources[i].dev, request->sources[i].ino);
		uint64_t *slot;

		while ((slot = number_map_at(&modules->sources, number)) && *slot)
			number++;
		if (!slot)
			return -ENOMEM;
		*slot = i + 1;
	}
	return 0;
}

/* The source of a file: the one of the same path where an inode was used for several files in turn. */
static const struct dump_source *find_source(
        const struct modules *modules, const struct event_mapping *mapping)
{
	const struct dump_source *found = NULL;
	uint64_t number = file_number(mapping->dev, mapping->ino), at;

	for (; (at = number_map_get(&modules->sources, number)); number++) {
		const struct dump_source *source = &modules->request->sources[at - 1];

		if (source->dev != mapping->dev || source->ino != mapping->ino)
			continue;
		if (source->path && strlen(source->path) == mapping->n_path &&
		        memcmp(source->path, mapping->path, mapping->n_path) == 0)
			return source;
		if (!found)
			found = source;
	}
	return found;
}

static int add_module(
        struct modules *modules, const struct event_mapping *mapping, const struct dump_source *source)
{
	struct module module = {.dev = mapping->dev, .ino = mapping->ino, .source = source};
	int r = GROW_BY_ONE(modules->items, modules->n_allocated, modules->n);

	if (r < 0)
		return r;
	module.path = utf8_clean(mapping->path, mapping->n_path);
	module.raw_path = strndup(mapping->path, mapping->n_path);
	module.key = key_make(modules->n, mapping->path, mapping->n_path);
	if (!module.path || !module.raw_path || !module.key) {
		free(module.path);
		free(module.raw_path);
		free(module.key);
		return -ENOMEM;
	}
	modules->items[modules->n++] = module;
	return 0;
}

int modules_find(struct modules *modules, const struct event_mapping *mapping, uint32_t *ret_module)
{
	const struct dump_source *source = find_source(modules, mapping);
	uint64_t number = file_number(mapping->dev, mapping->ino), *slot;
	int r;

	for (;; number++) {
		const struct module *module;

		slot = number_map_at(&modules->by_file, number);
		if (!slot)
			return -ENOMEM;
		if (!*slot)
			break;
		module = &modules->items[*slot - 1];
		if (module->dev == mapping->dev && module->ino == mapping->ino && module->source == source) {
			*ret_module = (uint32_t)(*slot - 1);
			return 1;
		}
	}
	if (modules->n >= MODULES_MAX) {
		modules->n_dropped++;
		return 0;
	}
	r = add_module(modules, mapping, source);
	if (r < 0)
		return r;
	*slot = modules->n;
	*ret_module = (uint32_t)(modules->n - 1);
	return 1;
}

void module_add_reason(struct module *module, const char *format, ...)
{
	va_list arguments;
	char *reason;

	va_start(arguments, format);
	if (vasprintf(&reason, format, arguments) < 0)
		reason = NULL;
	va_end(arguments);
	if (reason && module->n_reasons < MODULE_REASONS_MAX)
		module->reasons[module->n_reasons++] = reason;
	else
		free(reason);
}

void modules_deinit(struct modules *modules)
{
	for (size_t i = 0; i < modules->n; i++) {
		struct module *module = &modules->items[i];

		free(module->path);
		free(module->raw_path);
		free(module->key);
		free(module->debug_infos);
		module_elf_deinit(&module->elf);
		while (module->n_reasons > 0)
			free(module->reasons[--module->n_reasons]);
	}
	free(modules->items);
	number_map_deinit(&modules->sources);
	number_map_deinit(&modules->by_file);
}
