/* cfi.h: call frame information of .eh_frame (LSB Core, "Exception Frames"; DWARF 4 section 6.4), interpreted
 * for two questions only: what is the CFA, and where is the caller's frame pointer.
 *
 * libdw answers them for single addresses; here every row of a module is wanted, in a few milliseconds, while the
 * program that maps it waits.
 */
#ifndef PLUGIN_UNWIND_CFI_H
#define PLUGIN_UNWIND_CFI_H

#include <stddef.h>
#include <stdint.h>

/* A section in memory. */
struct cfi_section {
	const uint8_t *data;
	size_t n_data;
	uint64_t svma; /* of data[0] */
};

/* Called for every row in the order of the section: from `svma` on, up to the next row or `end`, `rule` (RULE_… of
 * bpf/record.h) holds. A negative return ends cfi_read with it. */
typedef int (*cfi_row)(void *context, uint64_t svma, uint64_t end, uint32_t rule);

/* 0, -EBADMSG where the section is broken, or what `row` returned. */
int cfi_read(const struct cfi_section *section, cfi_row row, void *context);

#endif
