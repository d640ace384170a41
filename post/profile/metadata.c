/* metadata.c: memory_metadata.json of a profile. */
#include "profile/metadata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/json_out.h"
#include "util/cleanup.h"
#include "util/file.h"

#define ANCESTORS_MAX 64 /* how far up a name is looked for */

/* What a map from processes to placements says of one of them; nothing: it is left out. */
typedef void (*put_placement)(
        struct json_out *out, const struct module *module, const struct placement *placement, uint64_t bias);

bool metadata_is_interpreter(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (strncmp(name, "libpython", 9) == 0)
		return strstr(name, ".so") != NULL;
	return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

static void begin_process(struct json_out *out, uint32_t pid)
{
	char key[16];

	snprintf(key, sizeof(key), "%" PRIu32, pid);
	json_out_begin(out, key, '[');
}

/* One member: for each process the placements that `put` has something to say of. */
static void put_placements(struct json_out *out, const struct metadata *metadata, const char *key,
        bool (*is_wanted)(const struct module *module), put_placement put)
{
	bool any = false;
	uint32_t pid = 0;

	json_out_begin(out, key, '{');
	for (size_t i = 0; i < metadata->n_placements; i++) {
		const struct placement *placement = &metadata->placements[i];
		const struct module *module = &metadata->modules->items[placement->module];
		uint64_t bias;

		if (!is_wanted(module) ||
		        !module_elf_bias(&module->elf, placement->start, placement->file_offset,
		                placement->end - placement->start, &bias))
			continue;
		if (!any || pid != placement->pid) {
			if (any)
				json_out_end(out, ']');
			begin_process(out, placement->pid);
			pid = placement->pid;
			any = true;
		}
		put(out, module, placement, bias);
	}
	if (any)
		json_out_end(out, ']');
	json_out_end(out, '}');
}

static bool has_symbols(const struct module *module)
{
	return module->has_symbols;
}

static bool has_unwind_data(const struct module *module)
{
	return module->has_unwind_data;
}

static bool has_debug_infos(const struct module *module)
{
	return module->debug_infos;
}

static bool is_interpreter(const struct module *module)
{
	return metadata_is_interpreter(module->raw_path);
}

static void put_symbols(
        struct json_out *out, const struct module *module, const struct placement *placement, uint64_t bias)
{
	json_out_begin(out, NULL, '{');
	json_out_text(out, "perf_map_key", module->key);
	json_out_number(out, "load_bias", bias);
	json_out_number(out, "timestamp", placement->time);
	json_out_end(out, '}');
}

static void put_unwind_data(
        struct json_out *out, const struct module *module, const struct placement *placement, uint64_t bias)
{
	json_out_begin(out, NULL, '{');
	json_out_text(out, "unwind_data_key", module->key);
	json_out_number(out, "timestamp", placement->time);
	json_out_begin(out, "avma_range", '{');
	json_out_number(out, "start", placement->start);
	json_out_number(out, "end", placement->end);
	json_out_end(out, '}');
	json_out_number(out, "base_avma", module->elf.base_svma + bias);
	json_out_end(out, '}');
}

static void put_debug_info(
        struct json_out *out, const struct module *module, const struct placement *placement, uint64_t bias)
{
	json_out_begin(out, NULL, '{');
	json_out_text(out, "debug_info_key", module->key);
	json_out_number(out, "load_bias", bias);
	json_out_number(out, "timestamp", placement->time);
	json_out_end(out, '}');
}

static void put_ignored(
        struct json_out *out, const struct module *module, const struct placement *placement, uint64_t bias)
{
	(void)bias;
	json_out_begin(out, NULL, '[');
	json_out_text(out, NULL, module->path);
	json_out_number(out, NULL, placement->start);
	json_out_number(out, NULL, placement->end);
	json_out_end(out, ']');
}

/* The name of a process: its own, else that of the nearest ancestor that has one. */
static const char *name_of(const struct metadata *metadata, const struct number_map *names, uint32_t pid)
{
	for (unsigned i = 0; i < ANCESTORS_MAX; i++) {
		uint64_t name = number_map_get(names, pid), parent;

		if (name)
			return metadata->request->names[name - 1].name;
		parent = number_map_get(&metadata->scan->processes, pid);
		if (parent < 2)
			break;
		pid = (uint32_t)(parent - 2);
	}
	return "unknown";
}

static void put_name(struct json_out *out, uint32_t pid, const char *name)
{
	char key[16];

	snprintf(key, sizeof(key), "%" PRIu32, pid);
	json_out_text(out, key, name);
}

static void put_names(struct json_out *out, const struct metadata *metadata)
{
	const struct dump_request *request = metadata->request;
	struct number_map names = {0};
	const struct number_entry *entry;
	size_t at = 0;

	for (size_t i = 0; i < request->n_names && !out->error; i++) {
		uint64_t *number;

		if (!request->names[i].name || !request->names[i].name[0])
			continue;
		number = number_map_at(&names, request->names[i].pid);
		if (number)
			*number = i + 1;
		else
			out->error = -ENOMEM;
	}
	json_out_begin(out, "process_names", '{');
	while ((entry = number_map_each(&metadata->scan->processes, &at)))
		put_name(out, (uint32_t)entry->key, name_of(metadata, &names, (uint32_t)entry->key));
	at = 0;
	while ((entry = number_map_each(&names, &at)))
		if (!number_map_has(&metadata->scan->processes, entry->key))
			put_name(out, (uint32_t)entry->key, request->names[entry->value - 1].name);
	json_out_end(out, '}');
	number_map_deinit(&names);
}

static void put_module_debug_info(struct json_out *out, const struct module *module)
{
	json_out_begin(out, module->key, '{');
	json_out_text(out, "object_path", module->path);
	json_out_begin(out, "addr_bounds", '[');
	json_out_number(out, NULL, module->debug_start);
	json_out_number(out, NULL, module->debug_end);
	json_out_end(out, ']');
	json_out_number(out, "load_bias", 0);
	json_out_begin(out, "debug_infos", '[');
	json_out_raw(out, module->debug_infos);
	json_out_end(out, ']');
	json_out_end(out, '}');
}

static void put_build_id(struct json_out *out, const struct module *module)
{
	char hex[2 * MODULE_BUILD_ID_MAX + 1];

	for (size_t i = 0; i < module->elf.n_build_id; i++)
		snprintf(hex + 2 * i, 3, "%02x", module->elf.build_id[i]);
	json_out_text(out, module->key, hex);
}

static void put_unreadable(struct json_out *out, const struct module *module)
{
	for (size_t i = 0; i < module->n_reasons; i++) {
		json_out_begin(out, NULL, '{');
		json_out_text(out, "key", module->key);
		json_out_text(out, "reason", module->reasons[i]);
		json_out_end(out, '}');
	}
}

static void put_modules(struct json_out *out, const struct modules *modules)
{
	json_out_begin(out, "debug_info", '{');
	for (size_t i = 0; i < modules->n; i++)
		if (modules->items[i].debug_infos)
			put_module_debug_info(out, &modules->items[i]);
	json_out_end(out, '}');
	json_out_begin(out, "path_key_to_path", '{');
	for (size_t i = 0; i < modules->n; i++)
		json_out_text(out, modules->items[i].key, modules->items[i].path);
	json_out_end(out, '}');
	json_out_begin(out, "build_ids", '{');
	for (size_t i = 0; i < modules->n; i++)
		if (modules->items[i].elf.n_build_id > 0)
			put_build_id(out, &modules->items[i]);
	json_out_end(out, '}');
	json_out_begin(out, "unreadable", '[');
	for (size_t i = 0; i < modules->n; i++)
		put_unreadable(out, &modules->items[i]);
	json_out_end(out, ']');
}

static void put_not_seen(struct json_out *out, const struct metadata *metadata)
{
	const struct dump_request *request = metadata->request;

	json_out_begin(out, "lost", '{');
	for (size_t i = 0; i < request->n_lost; i++)
		json_out_number(out, request->lost[i].counter, request->lost[i].value);
	for (size_t i = 0; i < metadata->n_lost; i++)
		json_out_number(out, metadata->lost[i].counter, metadata->lost[i].value);
	json_out_end(out, '}');
	json_out_begin(out, "not_traced", '[');
	for (size_t i = 0; i < request->n_not_traced; i++) {
		const struct dump_not_traced *item = &request->not_traced[i];

		json_out_begin(out, NULL, '{');
		json_out_text(out, "path", item->path ? item->path : "");
		json_out_number(out, "pid", item->pid);
		json_out_text(out, "reason", item->reason ? item->reason : "");
		json_out_end(out, '}');
	}
	json_out_end(out, ']');
}

static void put_all(struct json_out *out, const struct metadata *metadata)
{
	const struct dump_request *request = metadata->request;

	json_out_begin(out, NULL, '{');
	json_out_number(out, "version", 1);
	json_out_begin(out, "integration", '[');
	json_out_text(out, NULL, request->integration_name ? request->integration_name : "");
	json_out_text(out, NULL, request->integration_version ? request->integration_version : "");
	json_out_end(out, ']');
	json_out_text(out, "arch", request->arch);
	put_names(out, metadata);
	put_placements(out, metadata, "mapped_process_module_symbols", has_symbols, put_symbols);
	put_placements(out, metadata, "mapped_process_unwind_data_by_pid", has_unwind_data, put_unwind_data);
	put_placements(out, metadata, "mapped_process_debug_info_by_pid", has_debug_infos, put_debug_info);
	put_placements(out, metadata, "ignored_modules_by_pid", is_interpreter, put_ignored);
	put_modules(out, metadata->modules);
	put_not_seen(out, metadata);
	json_out_end(out, '}');
	if (!out->error)
		putc('\n', out->file);
}

int metadata_write(const struct metadata *metadata)
{
	const struct dump_request *request = metadata->request;
	CLEANUP_CLOSE int fd =
	        file_create(request->profile_fd, METADATA_NAME, request->owner_uid, request->owner_gid);
	struct json_out out = {.is_first = true};
	int r;

	if (fd < 0)
		return fd;
	out.file = file_stream(fd);
	if (out.file) {
		put_all(&out, metadata);
		r = file_stream_close(out.file);
		if (out.error)
			r = out.error;
	} else {
		r = -errno;
	}
	if (r < 0)
		unlinkat(request->profile_fd, METADATA_NAME, 0);
	return r;
}
