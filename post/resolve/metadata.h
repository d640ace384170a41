/* metadata.h: memory_metadata.json of a profile (FORMATS.md section 6), as far as names and stacks need it.
 */
#ifndef POST_RESOLVE_METADATA_H
#define POST_RESOLVE_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resolve/texts.h"

/* The source line of one symbol. */
struct metadata_line {
	uint64_t addr; /* SVMA */
	uint64_t size;
	const char *file;
	uint32_t line; /* 0 where unknown */
};

/* One file that was mapped. Strings belong to the set of texts; NULL where unknown. */
struct metadata_module {
	const char *key;
	const char *path;
	const char *build_id;
	bool has_bounds;
	uint64_t min; /* SVMA bounds of what the debug info describes */
	uint64_t max;
	struct metadata_line *lines; /* by addr */
	size_t n_lines;
};

/* From `time` (ns) on the module lies in the process, until a later placement covers it. */
struct metadata_placement {
	size_t module; /* index */
	uint64_t time;
	bool has_range; /* one of the unwind data: start, end and base_avma are known; else load_bias */
	uint64_t start;
	uint64_t end;
	uint64_t base_avma;
	uint64_t load_bias;
};

struct metadata_ignored {
	uint64_t start; /* AVMA */
	uint64_t end;
};

struct metadata_process {
	uint32_t pid;
	struct metadata_placement *placements;
	size_t n_placements;
	size_t n_placements_allocated;
	struct metadata_ignored *ignored;
	size_t n_ignored;
	size_t n_ignored_allocated;
};

struct metadata {
	const char *arch;
	struct metadata_module *modules; /* by key */
	size_t n_modules;
	struct metadata_process *processes; /* by pid */
	size_t n_processes;
	uint64_t n_bad; /* entries that are not what they should be and are left out */
};

/* Reads the n bytes of such a file; texts are added to `texts`. 0 or a negative errno: -EBADMSG where it is
 * not a JSON object or has no architecture, -EPROTONOSUPPORT for a version from the future, -ENOMEM. */
int metadata_parse(const char *text, size_t n, struct texts *texts, struct metadata *ret_metadata);

/* The same from the folder; also -EFBIG for an absurd size, and what opening and reading give. */
int metadata_read(int folder_fd, struct texts *texts, struct metadata *ret_metadata);

void metadata_deinit(struct metadata *metadata);

#endif
