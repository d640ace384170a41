/* metadata.c: memory_metadata.json of a profile, as far as names and stacks need it. */
#include "resolve/metadata.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "resolve/json.h"
#include "util/cleanup.h"
#include "util/file.h"
#include "util/grow.h"

/* debug_info → key → debug_infos → entry → member is the deepest. */
#define MAX_DEPTH 12

/* bytes */
#define METADATA_MAX ((size_t)1 << 30)

/* The tables whose entries place modules in processes. */
struct placement_table {
	const char *name;
	const char *key; /* the member that names the module */
	bool has_range;
};

struct loader {
	struct json_object *root;
	struct texts *texts;
	const struct placement_table *placements; /* the one that is being loaded */
	size_t text;                              /* which member of a module likewise: its offset */
	struct metadata metadata;
	size_t n_modules_allocated;
	size_t n_processes_allocated;
};

/* In order of preference: a module that has unwind data needs no other placement. */
static const struct placement_table placement_tables[] = {
        {"mapped_process_unwind_data_by_pid", "unwind_data_key", true},
        {"mapped_process_module_symbols", "perf_map_key", false},
        {"mapped_process_debug_info_by_pid", "debug_info_key", false},
};

static int add_string(struct loader *loader, struct json_object *value, const char **ret_string)
{
	return texts_add(loader->texts, json_object_get_string(value),
	        (size_t)json_object_get_string_len(value), ret_string);
}

/* A whole table; counted where there is something else in its place. */
static struct json_object *find_table(struct loader *loader, const char *name)
{
	struct json_object *table = json_member(loader->root, name, json_type_object);

	if (!table && json_object_object_get_ex(loader->root, name, NULL))
		loader->metadata.n_bad++;
	return table;
}

/* Gives every entry of a table to `load`, which answers 0, a negative errno, or 1 for an entry that is not as
 * it should be: those are counted. */
static int load_table(struct loader *loader, const char *name,
        int (*load)(struct loader *, const char *key, struct json_object *value))
{
	struct json_object *table = find_table(loader, name);

	if (!table)
		return 0;
	json_object_object_foreach(table, key, value)
	{
		int r = load(loader, key, value);

		if (r < 0)
			return r;
		loader->metadata.n_bad += r > 0;
	}
	return 0;
}

/* Keys become file names below the folder, and must not lead out of it. */
static bool is_key(const char *key)
{
	return key[0] != '\0' && !strchr(key, '/');
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct metadata_module *)a)->key, ((const struct metadata_module *)b)->key);
}

static int compare_pids(const void *a, const void *b)
{
	uint32_t left = ((const struct metadata_process *)a)->pid,
	         right = ((const struct metadata_process *)b)->pid;

	return left < right ? -1 : left > right;
}

static int add_module(struct loader *loader, const char *key)
{
	struct metadata *metadata = &loader->metadata;
	struct metadata_module module = {0};
	int r;

	if (!is_key(key))
		return 0;
	r = GROW_BY_ONE(metadata->modules, loader->n_modules_allocated, metadata->n_modules);
	if (r == 0)
		r = texts_add(loader->texts, key, strlen(key), &module.key);
	if (r < 0)
		return r;
	metadata->modules[metadata->n_modules++] = module;
	return 0;
}

static struct metadata_module *find_module(struct metadata *metadata, const char *key)
{
	struct metadata_module wanted = {.key = key};

	if (metadata->n_modules == 0)
		return NULL;
	return bsearch(&wanted, metadata->modules, metadata->n_modules, sizeof(wanted), compare_keys);
}

static bool parse_pid(const char *text, uint32_t *ret_pid)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || value > UINT32_MAX)
		return false;
	*ret_pid = (uint32_t)value;
	return true;
}

static struct metadata_process *find_process(struct metadata *metadata, const char *text)
{
	struct metadata_process wanted = {0};

	if (metadata->n_processes == 0 || !parse_pid(text, &wanted.pid))
		return NULL;
	return bsearch(&wanted, metadata->processes, metadata->n_processes, sizeof(wanted), compare_pids);
}

/* Every module has a path: those of path_key_to_path are all there are. Entries that make no sense are
 * counted by load_texts. */
static int load_modules(struct loader *loader)
{
	struct json_object *table = json_member(loader->root, "path_key_to_path", json_type_object);
	struct metadata *metadata = &loader->metadata;
	size_t n = 0;

	if (!table)
		return 0;
	json_object_object_foreach(table, key, value)
	{
		int r = add_module(loader, key);

		(void)value;
		if (r < 0)
			return r;
	}
	if (metadata->n_modules > 0)
		qsort(metadata->modules, metadata->n_modules, sizeof(metadata->modules[0]), compare_keys);
	/* Cleaned keys may have become equal. */
	for (size_t i = 0; i < metadata->n_modules; i++) {
		if (n == 0 || metadata->modules[n - 1].key != metadata->modules[i].key)
			metadata->modules[n++] = metadata->modules[i];
		else
			metadata->n_bad++;
	}
	metadata->n_modules = n;
	return 0;
}

static int load_text(struct loader *loader, const char *key, struct json_object *value)
{
	struct metadata_module *module = find_module(&loader->metadata, key);

	if (!module || !json_object_is_type(value, json_type_string))
		return 1;
	return add_string(loader, value, (const char **)((char *)module + loader->text));
}

/* Fills one text of each module from a table key → text. */
static int load_texts(struct loader *loader, const char *name, size_t member)
{
	loader->text = member;
	return load_table(loader, name, load_text);
}

static int compare_lines(const void *a, const void *b)
{
	uint64_t left = ((const struct metadata_line *)a)->addr,
	         right = ((const struct metadata_line *)b)->addr;

	return left < right ? -1 : left > right;
}

/* 0, 1 where the entry is no line, or -ENOMEM. */
static int load_line(struct loader *loader, struct json_object *entry, struct metadata_line *ret_line)
{
	struct json_object *file = json_member(entry, "file", json_type_string);
	struct metadata_line line = {0};
	uint64_t number = 0;
	int r;

	if (!file || !json_member_uint64(entry, "addr", &line.addr) ||
	        !json_member_uint64(entry, "size", &line.size))
		return 1;
	if (json_member_uint64(entry, "line", &number) && number <= UINT32_MAX)
		line.line = (uint32_t)number;
	r = add_string(loader, file, &line.file);
	if (r == 0)
		*ret_line = line;
	return r;
}

static int load_lines(struct loader *loader, struct json_object *infos, struct metadata_module *module)
{
	size_t n = json_object_array_length(infos);
	int r;

	if (n == 0 || module->lines)
		return 0;
	module->lines = calloc(n, sizeof(module->lines[0]));
	if (!module->lines)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		r = load_line(loader, json_object_array_get_idx(infos, i), &module->lines[module->n_lines]);
		if (r < 0)
			return r;
		if (r == 0)
			module->n_lines++;
		else
			loader->metadata.n_bad++;
	}
	qsort(module->lines, module->n_lines, sizeof(module->lines[0]), compare_lines);
	return 0;
}

static int load_debug_info(struct loader *loader, const char *key, struct json_object *value)
{
	struct metadata_module *module = find_module(&loader->metadata, key);
	struct json_object *bounds = json_member(value, "addr_bounds", json_type_array);
	struct json_object *infos = json_member(value, "debug_infos", json_type_array);

	if (!module || !infos)
		return 1;
	if (bounds && json_object_array_length(bounds) == 2)
		module->has_bounds = json_to_uint64(json_object_array_get_idx(bounds, 0), &module->min) &&
		                     json_to_uint64(json_object_array_get_idx(bounds, 1), &module->max);
	return load_lines(loader, infos, module);
}

/* What is no pid is counted where the table is loaded. */
static int collect_pids(struct loader *loader, const char *name)
{
	struct json_object *table = json_member(loader->root, name, json_type_object);
	struct metadata *metadata = &loader->metadata;

	if (!table)
		return 0;
	json_object_object_foreach(table, key, value)
	{
		struct metadata_process process = {0};
		int r;

		(void)value;
		if (!parse_pid(key, &process.pid))
			continue;
		r = GROW_BY_ONE(metadata->processes, loader->n_processes_allocated, metadata->n_processes);
		if (r < 0)
			return r;
		metadata->processes[metadata->n_processes++] = process;
	}
	return 0;
}

static int load_pids(struct loader *loader)
{
	struct metadata *metadata = &loader->metadata;
	size_t n = 0;
	int r = collect_pids(loader, "ignored_modules_by_pid");

	for (size_t i = 0; i < N_ELEMENTS(placement_tables) && r == 0; i++)
		r = collect_pids(loader, placement_tables[i].name);
	if (r < 0 || metadata->n_processes == 0)
		return r;
	qsort(metadata->processes, metadata->n_processes, sizeof(metadata->processes[0]), compare_pids);
	for (size_t i = 0; i < metadata->n_processes; i++) {
		if (n == 0 || metadata->processes[n - 1].pid != metadata->processes[i].pid)
			metadata->processes[n++] = metadata->processes[i];
	}
	metadata->n_processes = n;
	return 0;
}

static bool parse_placement(struct metadata *metadata, const struct placement_table *table,
        struct json_object *entry, struct metadata_placement *ret_placement)
{
	struct json_object *key = json_member(entry, table->key, json_type_string);
	struct json_object *range = json_member(entry, "avma_range", json_type_object);
	struct metadata_module *module = key ? find_module(metadata, json_object_get_string(key)) : NULL;

	*ret_placement = (struct metadata_placement){.has_range = table->has_range};
	if (!module || !json_member_uint64(entry, "timestamp", &ret_placement->time))
		return false;
	ret_placement->module = (size_t)(module - metadata->modules);
	if (!table->has_range)
		return json_member_uint64(entry, "load_bias", &ret_placement->load_bias);
	return json_member_uint64(entry, "base_avma", &ret_placement->base_avma) &&
	       json_member_uint64(range, "start", &ret_placement->start) &&
	       json_member_uint64(range, "end", &ret_placement->end);
}

/* 0, 1 where the entry is no placement, or -ENOMEM. */
static int add_placement(struct loader *loader, struct metadata_process *process, struct json_object *entry)
{
	struct metadata_placement placement;
	int r;

	if (!parse_placement(&loader->metadata, loader->placements, entry, &placement))
		return 1;
	r = GROW_BY_ONE(process->placements, process->n_placements_allocated, process->n_placements);
	if (r == 0)
		process->placements[process->n_placements++] = placement;
	return r;
}

/* 0, 1 where the entry is no range, or -ENOMEM. */
static int add_ignored(struct loader *loader, struct metadata_process *process, struct json_object *entry)
{
	struct metadata_ignored ignored;
	int r;

	(void)loader;
	if (!json_object_is_type(entry, json_type_array) || json_object_array_length(entry) != 3 ||
	        !json_to_uint64(json_object_array_get_idx(entry, 1), &ignored.start) ||
	        !json_to_uint64(json_object_array_get_idx(entry, 2), &ignored.end))
		return 1;
	r = GROW_BY_ONE(process->ignored, process->n_ignored_allocated, process->n_ignored);
	if (r == 0)
		process->ignored[process->n_ignored++] = ignored;
	return r;
}

/* All that a table has of one process: pid → array. */
static int load_process(struct loader *loader, const char *key, struct json_object *array,
        int (*add)(struct loader *, struct metadata_process *, struct json_object *entry))
{
	struct metadata_process *process = find_process(&loader->metadata, key);
	size_t n;

	if (!process || !json_object_is_type(array, json_type_array))
		return 1;
	n = json_object_array_length(array);
	for (size_t i = 0; i < n; i++) {
		int r = add(loader, process, json_object_array_get_idx(array, i));

		if (r < 0)
			return r;
		loader->metadata.n_bad += r > 0;
	}
	return 0;
}

static int load_placements(struct loader *loader, const char *key, struct json_object *value)
{
	return load_process(loader, key, value, add_placement);
}

static int load_ignored(struct loader *loader, const char *key, struct json_object *value)
{
	return load_process(loader, key, value, add_ignored);
}

static int load(struct loader *loader)
{
	struct json_object *arch = json_member(loader->root, "arch", json_type_string);
	uint64_t version;
	int r;

	if (!arch || !json_member_uint64(loader->root, "version", &version))
		return -EBADMSG;
	if (version != 1)
		return -EPROTONOSUPPORT;
	r = add_string(loader, arch, &loader->metadata.arch);
	if (r == 0)
		r = load_modules(loader);
	if (r == 0)
		r = load_texts(loader, "path_key_to_path", offsetof(struct metadata_module, path));
	if (r == 0)
		r = load_texts(loader, "build_ids", offsetof(struct metadata_module, build_id));
	if (r == 0)
		r = load_table(loader, "debug_info", load_debug_info);
	if (r == 0)
		r = load_pids(loader);
	for (size_t i = 0; i < N_ELEMENTS(placement_tables) && r == 0; i++) {
		loader->placements = &placement_tables[i];
		r = load_table(loader, placement_tables[i].name, load_placements);
	}
	return r == 0 ? load_table(loader, "ignored_modules_by_pid", load_ignored) : r;
}

/* NULL where the text is not one JSON value. */
static struct json_object *parse_json(const char *text, size_t n)
{
	struct json_tokener *tokener = json_tokener_new_ex(MAX_DEPTH);
	struct json_object *root = NULL;

	if (!tokener)
		return NULL;
	if (n <= METADATA_MAX)
		root = json_tokener_parse_ex(tokener, text, (int)n);
	if (json_tokener_get_error(tokener) != json_tokener_success) {
		json_object_put(root);
		root = NULL;
	}
	json_tokener_free(tokener);
	return root;
}

int metadata_parse(const char *text, size_t n, struct texts *texts, struct metadata *ret_metadata)
{
	struct loader loader = {.root = parse_json(text, n), .texts = texts};
	int r = loader.root ? load(&loader) : -EBADMSG;

	json_object_put(loader.root);
	if (r < 0)
		metadata_deinit(&loader.metadata);
	else
		*ret_metadata = loader.metadata;
	return r;
}

int metadata_read(int folder_fd, struct texts *texts, struct metadata *ret_metadata)
{
	CLEANUP_FREE char *text = NULL;
	size_t n;
	int r = file_read_whole(folder_fd, "memory_metadata.json", METADATA_MAX, &text, &n);

	return r < 0 ? r : metadata_parse(text, n, texts, ret_metadata);
}

void metadata_deinit(struct metadata *metadata)
{
	for (size_t i = 0; i < metadata->n_modules; i++)
		free(metadata->modules[i].lines);
	free(metadata->modules);
	for (size_t i = 0; i < metadata->n_processes; i++) {
		free(metadata->processes[i].placements);
		free(metadata->processes[i].ignored);
	}
	free(metadata->processes);
	*metadata = (struct metadata){0};
}
