/* module_dump.h: one module's files in the profile, and its debug information. */
#ifndef POST_PROFILE_MODULE_DUMP_H
#define POST_PROFILE_MODULE_DUMP_H

#include <stdatomic.h>

#include "profile/modules.h"

/* Reads the module and writes <key>.symbols.map, <key>.unwind_data and <key>.inlines, as far as there is
 * something to write. Fills the module in; everything that goes wrong is a reason in it. On any thread; *stop
 * true: it gives up soon and leaves out what is not done. */
void module_dump(struct module *module, const struct dump_request *request, const atomic_bool *stop);

#endif
