/* elf_image.h: an ELF file in memory that holds nothing but call frame information.
 *
 * libdw takes call frame information from an ELF file only. The image has the .eh_frame section at its own
 * address, and an .eh_frame_hdr that is made from the index, so that libdw finds exactly the descriptions
 * that the index holds.
 */
#ifndef POST_UNWIND_ELF_IMAGE_H
#define POST_UNWIND_ELF_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/eh_frame.h"

/* Builds the image in one heap block, which the caller frees. 0 or -ENOMEM. */
int elf_image_build(
        const struct eh_frame_index *index, uint16_t machine, uint8_t **ret_image, size_t *ret_size);

#endif
