/* eh_frame.h: a sorted index over the frame descriptions of an .eh_frame section.
 *
 * Facts from the Linux Standard Base, Core, "Exception Frames": the layout of CIEs and FDEs, the augmentation
 * strings and the DW_EH_PE_… pointer encodings. The file's own .eh_frame_hdr is not used: it may be missing,
 * stale or broken, and reading the whole section once costs 20 ms for the largest libraries.
 */
#ifndef POST_UNWIND_EH_FRAME_H
#define POST_UNWIND_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eh_frame_cie {
	uint64_t offset; /* in the section */
	const uint8_t *instructions;
	const uint8_t *instructions_end;
	uint8_t pointer_encoding; /* DW_EH_PE_… of the FDEs' addresses */
	bool has_length;          /* 'z': the FDEs' augmentation data state their length */
};

struct eh_frame_fde {
	uint64_t start; /* SVMA */
	uint64_t end;   /* SVMA, exclusive */
	uint64_t offset;
	size_t cie; /* index into cies */
};

struct eh_frame_index {
	const uint8_t *bytes; /* the section; borrowed */
	size_t n_bytes;
	uint64_t svma;             /* of the section */
	struct eh_frame_fde *fdes; /* by start; no two have the same */
	size_t n_fdes;
	struct eh_frame_cie *cies; /* by offset */
	size_t n_cies;
	uint64_t n_bad; /* entries that could not be understood and are left out */
};

/* Indexes the section `bytes`, which must outlive the index. Entries that make no sense are counted and left
 * out; where the lengths no longer lead from one to the next the rest is left out and counted once. 0 or
 * -ENOMEM. */
int eh_frame_index_init(struct eh_frame_index *index, const uint8_t *bytes, size_t n_bytes, uint64_t svma);

void eh_frame_index_deinit(struct eh_frame_index *index);

/* The description that covers `svma`, or NULL. */
const struct eh_frame_fde *eh_frame_index_find(const struct eh_frame_index *index, uint64_t svma);

/* Bytes of a code address as the CIE's FDEs store it. */
unsigned eh_frame_pointer_size(const struct eh_frame_cie *cie);

/* The instructions of an FDE; false where its augmentation data do not fit. */
bool eh_frame_instructions(const struct eh_frame_index *index, const struct eh_frame_fde *fde,
        const uint8_t **ret_start, const uint8_t **ret_end);

#endif
