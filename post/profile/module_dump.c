/* module_dump.c: one module's files in the profile, and its debug information. */
#include "profile/module_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "module/debug_file.h"
#include "module/dwarf_lines.h"
#include "module/ehframe.h"
#include "module/symtab.h"
#include "util/cleanup.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/utf8.h"

/* One piece of work. */
struct dumping {
	struct module *module;
	const struct dump_request *request;
	const atomic_bool *stop;
	const char *debug_folder;
	struct debug_file debug;
	struct symbols symbols;
};

/* Opens a file that nobody kept, if it is still the one that was mapped. */
static int open_by_path(struct module *module)
{
	CLEANUP_CLOSE int fd = open(module->raw_path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0) {
		module_add_reason(module, "not kept open, and cannot be opened: %s", strerror(errno));
		return -errno;
	}
	if (((uint64_t)major(status.st_dev) << 20 | minor(status.st_dev)) != module->dev ||
	        status.st_ino != module->ino) {
		module_add_reason(module, "not kept open, and another file is there now");
		return -ENOENT;
	}
	return steal_fd(&fd);
}

/* The descriptor to read from; *ret_own is it where it has to be closed. */
static int find_descriptor(struct module *module, int *ret_own)
{
	int fd;

	if (module->source && module->source->fd >= 0)
		return module->source->fd;
	if (module->source) {
		module_add_reason(module, "%s",
		        module->source->reason ? module->source->reason : "could not be opened");
		return -ENOENT;
	}
	fd = open_by_path(module);
	if (fd >= 0)
		*ret_own = fd;
	return fd;
}

/* Makes <key>.<suffix> and lets `write` fill it. What could not be written whole is not left behind. */
static bool write_file(
        struct dumping *dumping, const char *suffix, int (*write)(int fd, const void *what), const void *what)
{
	const struct dump_request *request = dumping->request;
	CLEANUP_FREE char *name = NULL;
	CLEANUP_CLOSE int fd = -1;
	int r;

	if (asprintf(&name, "%s.%s", dumping->module->key, suffix) < 0) {
		name = NULL;
		module_add_reason(dumping->module, "%s: out of memory", suffix);
		return false;
	}
	fd = file_create(request->profile_fd, name, request->owner_uid, request->owner_gid);
	r = fd < 0 ? fd : write(fd, what);
	if (r < 0) {
		module_add_reason(dumping->module, "%s could not be written: %s", suffix, strerror(-r));
		if (fd >= 0)
			unlinkat(request->profile_fd, name, 0);
	}
	return r >= 0;
}

static int write_symbols(int fd, const void *what)
{
	return symbols_write(fd, what);
}

static int write_unwind_data(int fd, const void *what)
{
	return unwind_data_write(fd, what);
}

static int write_inlines(int fd, const void *what)
{
	return inlines_write(fd, what);
}

static void dump_symbols(struct dumping *dumping)
{
	struct module *module = dumping->module;
	Elf *const files[] = {module->elf.elf, dumping->debug.elf};
	int r = symtab_collect(files, N_ELEMENTS(files), &dumping->symbols);

	if (r < 0)
		module_add_reason(module, "symbols: %s", strerror(-r));
	else if (dumping->symbols.n > 0)
		module->has_symbols = write_file(dumping, "symbols.map", write_symbols, &dumping->symbols);
	else
		module_add_reason(
		        module, dumping->symbols.n_bad ? "its symbol table is damaged" : "no symbols");
}

static void dump_unwind_data(struct dumping *dumping)
{
	struct module *module = dumping->module;
	struct unwind_data data;
	const char *reason = NULL;
	int r = ehframe_find(&module->elf, &data, &reason);

	if (r < 0) {
		module_add_reason(module, "unwind data: %s", reason);
		return;
	}
	data.path = module->raw_path;
	data.n_path = strlen(module->raw_path);
	module->has_unwind_data = write_file(dumping, "unwind_data", write_unwind_data, &data);
	unwind_data_deinit(&data);
}

/* Text that grows. */
struct text {
	char *bytes;
	size_t n;
	size_t n_allocated;
};

static int append(struct text *text, const char *bytes)
{
	size_t n = strlen(bytes);
	int r = grow_array(&text->bytes, &text->n_allocated, text->n + n + 1, 1);

	if (r < 0)
		return r;
	memcpy(text->bytes + text->n, bytes, n + 1);
	text->n += n;
	return 0;
}

static int append_number(struct text *text, const char *before, uint64_t number)
{
	char digits[24];
	int r = append(text, before);

	snprintf(digits, sizeof(digits), "%" PRIu64, number);
	return r < 0 ? r : append(text, digits);
}

/* Appends a text of any bytes as a JSON string. */
static int append_string(struct text *text, const char *before, const char *string)
{
	CLEANUP_FREE char *clean = utf8_clean(string, strlen(string));
	json_object *value = clean ? json_object_new_string(clean) : NULL;
	const char *json = value ? json_object_to_json_string_ext(
	                                   value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
	                         : NULL;
	int r = json ? append(text, before) : -ENOMEM;

	if (r >= 0)
		r = append(text, json);
	json_object_put(value);
	return r;
}

/* There are thousands of them: only what has to be escaped is worth an object of json-c. */
static int append_debug_info(struct text *text, const struct symbol *symbol, const char *file, uint32_t line)
{
	int r = append_number(text, text->n > 0 ? ",\n{\"addr\":" : "{\"addr\":", symbol->addr);

	if (r >= 0)
		r = append_number(text, ",\"size\":", symbol->size);
	if (r >= 0)
		r = append_string(text, ",\"name\":", symbol->name);
	if (r >= 0)
		r = append_string(text, ",\"file\":", file);
	if (r >= 0 && line)
		r = append_number(text, ",\"line\":", line);
	else if (r >= 0)
		r = append(text, ",\"line\":null");
	return r < 0 ? r : append(text, "}");
}

static int make_debug_infos(struct dumping *dumping, const struct inlines *inlines)
{
	struct module *module = dumping->module;
	struct text text = {0};
	int r = 0;

	for (size_t i = 0; i < dumping->symbols.n && r >= 0; i++) {
		const struct symbol *symbol = &dumping->symbols.items[i];
		uint64_t end = symbol->addr + symbol->size;
		const char *file;
		uint32_t line;

		if (!inlines_find_outermost(inlines, symbol->addr, &file, &line))
			continue;
		if (text.n == 0)
			module->debug_start = symbol->addr;
		if (end > module->debug_end)
			module->debug_end = end;
		r = append_debug_info(&text, symbol, file, line);
	}
	if (r < 0) {
		free(text.bytes);
		return r;
	}
	module->debug_infos = text.bytes;
	return 0;
}

static bool is_stopped(void *context)
{
	return atomic_load((const atomic_bool *)context);
}

/* Makes the tables, all in all or not at all. */
static int collect_lines(struct dumping *dumping, struct inlines **ret_inlines, const char **ret_reason)
{
	const struct module_elf *elf = &dumping->module->elf;
	struct dwarf_image image;
	int r = dwarf_image_init(
	        &image, dumping->debug.elf ? dumping->debug.fd : elf->fd, dumping->debug_folder, ret_reason);

	if (r < 0)
		return r;
	r = dwarf_lines_collect(&image, elf, is_stopped, (void *)dumping->stop, ret_inlines, ret_reason);
	dwarf_image_deinit(&image);
	return r;
}

static void dump_debug_info(struct dumping *dumping)
{
	struct module *module = dumping->module;
	struct inlines *inlines;
	const char *reason;
	int r = collect_lines(dumping, &inlines, &reason);

	if (r == -ENOENT || r == -EINTR)
		return;
	if (r >= 0) {
		reason = "out of memory";
		r = make_debug_infos(dumping, inlines);
		if (module->debug_infos)
			write_file(dumping, "inlines", write_inlines, inlines);
		inlines_free(inlines);
	}
	if (r < 0)
		module_add_reason(module, "debug information: %s", reason);
}

static void dump_elf(struct dumping *dumping)
{
	struct module *module = dumping->module;

	if (!dwarf_image_is_in(module->elf.elf) && debug_file_find(&module->elf, module->raw_path,
	                                                   dumping->debug_folder, &dumping->debug) == -ENOMEM)
		module_add_reason(module, "debug information: out of memory");
	dump_symbols(dumping);
	if (!atomic_load(dumping->stop))
		dump_unwind_data(dumping);
	if (!atomic_load(dumping->stop))
		dump_debug_info(dumping);
	symbols_deinit(&dumping->symbols);
	debug_file_deinit(&dumping->debug);
}

void module_dump(struct module *module, const struct dump_request *request, const atomic_bool *stop)
{
	struct dumping dumping = {.module = module,
	        .request = request,
	        .stop = stop,
	        .debug_folder = request->debug_folder ? request->debug_folder : DEBUG_FILE_FOLDER,
	        .debug = {.fd = -1}};
	CLEANUP_CLOSE int own = -1;
	const char *reason;
	int fd = find_descriptor(module, &own);

	if (fd < 0)
		return;
	if (module_elf_init(&module->elf, fd, &reason) < 0) {
		module_add_reason(module, "%s", reason);
		return;
	}
	dump_elf(&dumping);
	module_elf_close(&module->elf);
}
