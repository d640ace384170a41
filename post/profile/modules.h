/* modules.h: the files that were mapped during a run, each once. */
#ifndef POST_PROFILE_MODULES_H
#define POST_PROFILE_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "artifact/event.h"
#include "module/elf.h"
#include "profile/dump.h"
#include "util/number_map.h"

#define MODULE_REASONS_MAX 4

/* A file, and what was made of it. */
struct module {
	uint64_t dev;
	uint64_t ino;
	const struct dump_source *source; /* NULL: not kept open */
	char *path;                       /* as the first process saw it, in valid UTF-8 */
	char *raw_path;                   /* as it is */
	char *key;
	struct module_elf
	        elf; /* its segments, after the file itself is closed; none where it is no ELF file */
	bool has_symbols;
	bool has_unwind_data;
	char *debug_infos; /* JSON: the inside of the array; NULL: none */
	uint64_t debug_start;
	uint64_t debug_end;
	char *reasons[MODULE_REASONS_MAX]; /* what could not be read, and why */
	size_t n_reasons;
	bool is_misplaced; /* it is mapped in a way that shows no segment of it */
};

struct modules {
	const struct dump_request *request;
	struct number_map sources; /* by file: 1 + index in request->sources */
	struct number_map by_file; /* 1 + index in items */
	struct module *items;
	size_t n;
	size_t n_allocated;
	uint64_t n_dropped; /* mappings of files beyond the number that is kept */
};

/* All zero before. 0 or -ENOMEM. */
int modules_init(struct modules *modules, const struct dump_request *request);

/* The number of the file behind a Mapping, added where it is new. 1: found; 0: there are too many; or
 * -ENOMEM. */
int modules_find(struct modules *modules, const struct event_mapping *mapping, uint32_t *ret_module);

/* Notes a reason, formatted; without memory or room it is lost. */
void module_add_reason(struct module *module, const char *format, ...) __attribute__((format(printf, 2, 3)));

void modules_deinit(struct modules *modules);

#endif
