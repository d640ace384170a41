/* cfi_builder.h: .eh_frame sections written by hand. */
#ifndef TESTS_UNWIND_CFI_BUILDER_H
#define TESTS_UNWIND_CFI_BUILDER_H

#include <stddef.h>
#include <stdint.h>

struct cfi_builder {
	uint64_t svma; /* of the section */
	uint8_t bytes[65536];
	size_t n;
};

void cfi_put(struct cfi_builder *builder, uint64_t value, unsigned n_bytes);

/* A CIE of version 1 with "zR", code alignment 1, data alignment -8 and x86-64's return address column; its
 * program is `program`. Returns its offset. */
size_t cfi_put_cie(struct cfi_builder *builder, uint8_t encoding, const void *program, size_t n_program);

/* The same with any augmentation, without its 'z' data where `augmentation` does not begin with 'z'. */
size_t cfi_put_cie_with(struct cfi_builder *builder, const char *augmentation, const void *data,
        size_t n_data, const void *program, size_t n_program);

/* An FDE of a CIE with encoding pcrel|sdata4. Returns its offset. */
size_t cfi_put_fde(struct cfi_builder *builder, size_t cie, uint64_t start, uint32_t length,
        const void *program, size_t n_program);

/* The initial program that every compiler for x86-64 uses: CFA is rsp + 8, the return address at CFA - 8. */
extern const uint8_t cfi_usual_program[5];

#define CFI_PCREL_SDATA4 0x1b

#endif
