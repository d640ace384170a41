/* module.h: one module of a profile: its unwind rules and its names, read when first needed. */
#ifndef POST_RESOLVE_MODULE_H
#define POST_RESOLVE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "module/inlines.h"
#include "module/symbols.h"
#include "module/unwind_data.h"
#include "resolve/metadata.h"
#include "resolve/texts.h"
#include "unwind/module_rules.h"
#include "util/log.h"

/* What is at one code address, innermost first. Strings belong to the set of texts, NULL where unknown. */
struct module_name {
	const char *function;
	const char *symbol;
	const char *file;
	uint32_t line;
	bool inlined;
	uint64_t start; /* SVMA of the function that is really there; the address where it is unknown */
};

/* What all modules of a profile share; borrowed. */
struct module_folder {
	int fd;
	const struct unwind_arch *arch;
	struct texts *texts;
	const struct log_sink *log;
};

struct module {
	const struct metadata_module *info;
	const struct module_folder *folder;
	bool unwind_tried;
	struct unwind_data unwind_data;
	struct module_rules *rules; /* NULL: none */
	bool names_tried;
	struct symbols symbols;
	struct inlines *inlines; /* NULL: none */
	struct name_cache *cache;
};

/* Borrows both. Reads nothing yet. */
void module_init(
        struct module *module, const struct module_folder *folder, const struct metadata_module *info);

/* Reads the unwind data, once; what cannot be read is a warning, and module->rules stays NULL. 0 or -ENOMEM.
 */
int module_need_unwind(struct module *module);

/* The same for symbols and inlines. */
int module_need_names(struct module *module);

/* The names at an address, at least one, which may be all NULL. *ret_names belongs to the module. 0 or
 * -ENOMEM. */
int module_names(
        struct module *module, uint64_t svma, const struct module_name **ret_names, size_t *ret_n_names);

/* The range of addresses that the names describe; false where there are none. */
bool module_named_range(struct module *module, uint64_t *ret_start, uint64_t *ret_end);

void module_deinit(struct module *module);

#endif
