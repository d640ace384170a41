/* ehframe.h: finds .eh_frame and .eh_frame_hdr of a module, with or without section headers. */
#ifndef POST_MODULE_EHFRAME_H
#define POST_MODULE_EHFRAME_H

#include "module/elf.h"
#include "module/unwind_data.h"

/* Fills all fields of *ret_data but the path; the caller ends it with unwind_data_deinit. 0; -ENOENT where
 * the module has none, or -EBADMSG where what it has cannot be used, with *ret_reason; -ENOMEM or the
 * negative errno of a read, with a reason too. */
int ehframe_find(const struct module_elf *module, struct unwind_data *ret_data, const char **ret_reason);

/* Where .eh_frame begins, by the n bytes of an .eh_frame_hdr at `svma` (Linux Standard Base, "Exception
 * Frames"). False: the header makes no sense. */
bool ehframe_of_header(const uint8_t *header, size_t n, uint64_t svma, uint64_t *ret_eh_frame);

/* How many of the n bytes at the start of an .eh_frame are records, its end mark included. */
size_t ehframe_length(const uint8_t *bytes, size_t n);

#endif
