/* metadata.h: memory_metadata.json of a profile (FORMATS.md section 6). */
#ifndef POST_PROFILE_METADATA_H
#define POST_PROFILE_METADATA_H

#include "profile/dump.h"
#include "profile/modules.h"
#include "profile/scan.h"
#include "profile/timeline.h"

#define METADATA_NAME "memory_metadata.json"

/* Everything that goes in; all borrowed. */
struct metadata {
	const struct dump_request *request;
	const struct scan *scan;
	const struct modules *modules;
	const struct placement *placements; /* sorted by process, then time */
	size_t n_placements;
	const struct dump_lost *lost; /* what the reading found, beside request->lost */
	size_t n_lost;
};

/* Makes the file below the profile folder. 0 or a negative errno, with nothing left behind. */
int metadata_write(const struct metadata *metadata);

/* Whether a report may fold the file away as a Python interpreter, by its name: libpython*.so*, python3.11, …
 */
bool metadata_is_interpreter(const char *path);

#endif
