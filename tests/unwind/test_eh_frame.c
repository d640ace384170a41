/* Proves that the index finds every description, whatever order and company they come in, and survives what
 * makes no sense. */
#include "unwind/eh_frame.h"

#include <criterion/criterion.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "cfi_builder.h"
#include "util/cleanup.h"

#define SECTION 0x400000

static struct cfi_builder builder;

static void start_section(void)
{
	builder = (struct cfi_builder){.svma = SECTION};
}

static struct eh_frame_index index_section(void)
{
	struct eh_frame_index index;

	cr_assert_eq(eh_frame_index_init(&index, builder.bytes, builder.n, builder.svma), 0);
	return index;
}

static uint64_t found_at(const struct eh_frame_index *index, uint64_t svma)
{
	const struct eh_frame_fde *fde = eh_frame_index_find(index, svma);

	return fde ? fde->start : 0;
}

Test(eh_frame, finds_what_covers)
{
	struct eh_frame_index index;
	size_t cie;

	start_section();
	cie = cfi_put_cie(&builder, CFI_PCREL_SDATA4, cfi_usual_program, 5);
	cfi_put_fde(&builder, cie, 0x3000, 0x10, NULL, 0);
	cfi_put_fde(&builder, cie, 0x1000, 0x20, NULL, 0);
	cfi_put_fde(&builder, cie, 0x1020, 1, NULL, 0);
	cfi_put(&builder, 0, 4);
	index = index_section();
	cr_assert_eq(index.n_fdes, 3);
	cr_assert_eq(index.n_bad, 0);
	cr_expect_eq(found_at(&index, 0xfff), 0);
	cr_expect_eq(found_at(&index, 0x1000), 0x1000);
	cr_expect_eq(found_at(&index, 0x101f), 0x1000);
	cr_expect_eq(found_at(&index, 0x1020), 0x1020);
	cr_expect_eq(found_at(&index, 0x1021), 0);
	cr_expect_eq(found_at(&index, 0x300f), 0x3000);
	cr_expect_eq(found_at(&index, 0x3010), 0);
	cr_expect_eq(found_at(&index, UINT64_MAX), 0);
	eh_frame_index_deinit(&index);
}

Test(eh_frame, goes_on_behind_a_terminator)
{
	struct eh_frame_index index;
	size_t cie;

	start_section();
	cie = cfi_put_cie(&builder, CFI_PCREL_SDATA4, cfi_usual_program, 5);
	cfi_put_fde(&builder, cie, 0x1000, 0x20, NULL, 0);
	cfi_put(&builder, 0, 4);
	cie = cfi_put_cie(&builder, CFI_PCREL_SDATA4, cfi_usual_program, 5);
	cfi_put_fde(&builder, cie, 0x2000, 0x20, NULL, 0);
	index = index_section();
	cr_expect_eq(found_at(&index, 0x1000), 0x1000);
	cr_expect_eq(found_at(&index, 0x2000), 0x2000);
	eh_frame_index_deinit(&index);
}

Test(eh_frame, keeps_the_first_of_equals_and_drops_what_linkers_dropped)
{
	struct eh_frame_index index;
	uint8_t absolute = DW_EH_PE_absptr;
	size_t cie, first;

	start_section();
	cie = cfi_put_cie(&builder, CFI_PCREL_SDATA4, cfi_usual_program, 5);
	first = cfi_put_fde(&builder, cie, 0x1000, 0x20, NULL, 0);
	cfi_put_fde(&builder, cie, 0x1000, 0x10, NULL, 0);
	cie = cfi_put_cie_with(&builder, "zR", &absolute, 1, cfi_usual_program, 5);
	cfi_put(&builder, 24, 4);
	cfi_put(&builder, builder.n - cie, 4);
	cfi_put(&builder, 0, 8);
	cfi_put(&builder, 0x10, 8);
	cfi_put(&builder, 0, 4);
	index = index_section();
	cr_assert_eq(index.n_fdes, 1);
	cr_assert_eq(index.n_bad, 0);
	cr_expect_eq(index.fdes[0].offset, first);
	cr_expect_eq(found_at(&index, 0x101f), 0x1000);
	eh_frame_index_deinit(&index);
}

static void expect_encoding(uint8_t encoding, unsigned size, uint64_t stored, uint64_t start)
{
	struct eh_frame_index index;
	size_t cie;

	start_section();
	cie = cfi_put_cie(&builder, encoding, cfi_usual_program, 5);
	cfi_put(&builder, 4 + 2 * size + 4, 4);
	cfi_put(&builder, builder.n - cie, 4);
	cfi_put(&builder, stored, size);
	cfi_put(&builder, 0x40, size);
	cfi_put(&builder, 0, 4);
	index = index_section();
	cr_assert_eq(index.n_fdes, 1, "encoding %#x", encoding);
	cr_expect_eq(index.fdes[0].start, start, "encoding %#x: %#lx", encoding,
	        (unsigned long)index.fdes[0].start);
	cr_expect_eq(index.fdes[0].end, start + 0x40, "encoding %#x", encoding);
	eh_frame_index_deinit(&index);
}

Test(eh_frame, pointer_encodings)
{
	const uint64_t place = SECTION + 24 + 8; /* the CIE has 24 bytes */

	expect_encoding(DW_EH_PE_absptr, 8, 0x123456789abc, 0x123456789abc);
	expect_encoding(DW_EH_PE_udata2, 2, 0xfff0, 0xfff0);
	expect_encoding(DW_EH_PE_udata4, 4, 0xfffffff0, 0xfffffff0);
	expect_encoding(DW_EH_PE_udata8, 8, 0x123456789abc, 0x123456789abc);
	expect_encoding(DW_EH_PE_sdata4, 4, 0x12345678, 0x12345678);
	expect_encoding(DW_EH_PE_pcrel | DW_EH_PE_sdata2, 2, (uint64_t)-16, place - 16);
	expect_encoding(DW_EH_PE_pcrel | DW_EH_PE_sdata4, 4, (uint64_t)-0x1000, place - 0x1000);
	expect_encoding(DW_EH_PE_pcrel | DW_EH_PE_sdata8, 8, (uint64_t)-0x1000, place - 0x1000);
	expect_encoding(DW_EH_PE_pcrel | DW_EH_PE_udata4, 4, 0x1000, place + 0x1000);
}

static void expect_bad(const char *what, uint64_t n_bad, size_t n_fdes)
{
	struct eh_frame_index index = index_section();

	cr_expect_eq(index.n_bad, n_bad, "%s: %lu", what, (unsigned long)index.n_bad);
	cr_expect_eq(index.n_fdes, n_fdes, "%s", what);
	eh_frame_index_deinit(&index);
}

Test(eh_frame, what_makes_no_sense_is_counted)
{
	const uint8_t personality[] = {0x9b, 1, 2, 3, 4, CFI_PCREL_SDATA4};
	uint8_t encoding = DW_EH_PE_uleb128;
	size_t cie;

	start_section();
	cie = cfi_put_cie_with(&builder, "zPR", personality, 6, cfi_usual_program, 5);
	cfi_put_fde(&builder, cie, 0x1000, 0x20, NULL, 0);
	expect_bad("personality", 0, 1);

	start_section();
	cie = cfi_put_cie_with(&builder, "zR", &encoding, 1, cfi_usual_program, 5);
	cfi_put_fde(&builder, cie, 0x1000, 0x20, NULL, 0);
	expect_bad("unusable encoding: CIE and FDE", 2, 0);

	start_section();
	cie = cfi_put_cie_with(&builder, "zQR", personality, 6, cfi_usual_program, 5);
	cfi_put_fde(&builder, cie, 0x1000, 0x20, NULL, 0);
	expect_bad("unknown augmentation", 2, 0);

	start_section();
	cie = cfi_put_cie(&builder, CFI_PCREL_SDATA4, cfi_usual_program, 5);
	cfi_put_fde(&builder, cie + 4, 0x1000, 0x20, NULL, 0);
	cfi_put_fde(&builder, cie, 0x2000, 0, NULL, 0);
	cfi_put_fde(&builder, cie, 0x3000, 8, NULL, 0);
	expect_bad("no such CIE, no length", 2, 1);

	start_section();
	cie = cfi_put_cie(&builder, CFI_PCREL_SDATA4, cfi_usual_program, 5);
	cfi_put_fde(&builder, cie, 0x1000, 8, NULL, 0);
	cfi_put(&builder, 0x7fffffff, 4);
	cfi_put(&builder, 0, 8);
	expect_bad("a length beyond the end", 1, 1);
}

/* Cut at every byte: what is whole is found. */
Test(eh_frame, cut)
{
	size_t cie, ends[3];

	start_section();
	cie = cfi_put_cie(&builder, CFI_PCREL_SDATA4, cfi_usual_program, 5);
	for (size_t i = 0; i < 3; i++) {
		cfi_put_fde(&builder, cie, 0x1000 * (i + 1), 0x20, NULL, 0);
		ends[i] = builder.n;
	}
	for (size_t n = 0; n <= ends[2]; n++) {
		CLEANUP_FREE uint8_t *copy = malloc(n ? n : 1);
		struct eh_frame_index index;

		memcpy(copy, builder.bytes, n);
		cr_assert_eq(eh_frame_index_init(&index, copy, n, SECTION), 0);
		cr_expect_eq(
		        index.n_fdes, (size_t)(n >= ends[0]) + (n >= ends[1]) + (n >= ends[2]), "at %zu", n);
		eh_frame_index_deinit(&index);
	}
}
