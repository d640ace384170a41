/* cfi_builder.c: .eh_frame sections written by hand. */
#include "cfi_builder.h"

#include <criterion/criterion.h>
#include <dwarf.h>
#include <string.h>

const uint8_t cfi_usual_program[5] = {DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1};

void cfi_put(struct cfi_builder *builder, uint64_t value, unsigned n_bytes)
{
	cr_assert_leq(builder->n + n_bytes, sizeof(builder->bytes));
	memcpy(builder->bytes + builder->n, &value, n_bytes);
	builder->n += n_bytes;
}

static void put_bytes(struct cfi_builder *builder, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cfi_put(builder, ((const uint8_t *)bytes)[i], 1);
}

static void finish(struct cfi_builder *builder, size_t offset)
{
	uint32_t length;

	while (builder->n % 4)
		cfi_put(builder, DW_CFA_nop, 1);
	length = (uint32_t)(builder->n - offset - 4);
	memcpy(builder->bytes + offset, &length, 4);
}

size_t cfi_put_cie_with(struct cfi_builder *builder, const char *augmentation, const void *data,
        size_t n_data, const void *program, size_t n_program)
{
	size_t offset = builder->n;

	cfi_put(builder, 0, 4);
	cfi_put(builder, 0, 4);
	cfi_put(builder, 1, 1);
	put_bytes(builder, augmentation, strlen(augmentation) + 1);
	cfi_put(builder, 1, 1);
	cfi_put(builder, 0x78, 1);
	cfi_put(builder, 16, 1);
	if (augmentation[0] == 'z')
		cfi_put(builder, n_data, 1);
	put_bytes(builder, data, n_data);
	put_bytes(builder, program, n_program);
	finish(builder, offset);
	return offset;
}

size_t cfi_put_cie(struct cfi_builder *builder, uint8_t encoding, const void *program, size_t n_program)
{
	return cfi_put_cie_with(builder, "zR", &encoding, 1, program, n_program);
}

size_t cfi_put_fde(struct cfi_builder *builder, size_t cie, uint64_t start, uint32_t length,
        const void *program, size_t n_program)
{
	size_t offset = builder->n;

	cfi_put(builder, 0, 4);
	cfi_put(builder, builder->n - cie, 4);
	cfi_put(builder, start - (builder->svma + builder->n), 4);
	cfi_put(builder, length, 4);
	cfi_put(builder, 0, 1);
	put_bytes(builder, program, n_program);
	finish(builder, offset);
	return offset;
}
