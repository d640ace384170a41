/* eh_frame.c: a sorted index over the frame descriptions of an .eh_frame section. */
#include "unwind/eh_frame.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/scan.h"
#include "util/grow.h"

#define PE_FORMAT      0x0f
#define PE_APPLICATION 0x70

struct builder {
	struct eh_frame_index *index;
	size_t n_fdes_allocated;
	size_t n_cies_allocated;
};

/* The bytes an encoded pointer takes, 0 for the formats that no compiler uses for code addresses. */
static unsigned pointer_size(uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	default:
		return 0;
	}
}

static bool pointer_usable(uint8_t encoding)
{
	unsigned application = encoding & PE_APPLICATION;

	return pointer_size(encoding) > 0 && !(encoding & DW_EH_PE_indirect) &&
	       (application == 0 || application == DW_EH_PE_pcrel);
}

/* Reads a code address; *ret_raw is the value as stored. `svma` is that of the section. */
static uint64_t read_pointer(
        const struct eh_frame_index *index, struct scan *scan, uint8_t encoding, uint64_t *ret_raw)
{
	uint64_t place = index->svma + (uint64_t)(scan->at - index->bytes);
	unsigned size = pointer_size(encoding);
	uint64_t raw =
	        encoding & DW_EH_PE_signed ? (uint64_t)scan_signed(scan, size) : scan_unsigned(scan, size);

	*ret_raw = raw;
	return (encoding & PE_APPLICATION) == DW_EH_PE_pcrel ? raw + place : raw;
}

/* The personality routine of a CIE: only its size matters here. */
static void skip_personality(struct scan *scan)
{
	uint8_t encoding = (uint8_t)scan_unsigned(scan, 1);
	unsigned size = pointer_size(encoding);

	if (size == 0 || (encoding & PE_APPLICATION) == DW_EH_PE_aligned)
		scan->failed = true;
	scan_skip(scan, size);
}

/* Finds the pointer encoding in the augmentation; false where the CIE cannot be used. */
static bool read_augmentation(const Dwarf_CIE *cie, struct eh_frame_cie *ret_cie)
{
	const char *letter = cie->augmentation;
	struct scan data;
	uint8_t encoding = DW_EH_PE_absptr;

	if (*letter && (*letter != 'z' || !cie->augmentation_data))
		return false;
	data = scan_over(cie->augmentation_data, cie->augmentation_data + cie->augmentation_data_size);
	ret_cie->has_length = *letter == 'z';
	while (*letter && *++letter) {
		if (*letter == 'R')
			encoding = (uint8_t)scan_unsigned(&data, 1);
		else if (*letter == 'L')
			scan_skip(&data, 1);
		else if (*letter == 'P')
			skip_personality(&data);
		else if (*letter != 'S' && *letter != 'B')
			return false;
	}
	ret_cie->pointer_encoding = encoding;
	return !data.failed && pointer_usable(encoding);
}

static int add_cie(struct builder *builder, uint64_t offset, const Dwarf_CIE *cie)
{
	struct eh_frame_index *index = builder->index;
	struct eh_frame_cie entry = {
	        .offset = offset,
	        .instructions = cie->initial_instructions,
	        .instructions_end = cie->initial_instructions_end,
	};
	int r;

	if (!read_augmentation(cie, &entry)) {
		index->n_bad++;
		return 0;
	}
	r = GROW_BY_ONE(index->cies, builder->n_cies_allocated, index->n_cies);
	if (r < 0)
		return r;
	index->cies[index->n_cies++] = entry;
	return 0;
}

static int compare_cies(const void *a, const void *b)
{
	uint64_t left = ((const struct eh_frame_cie *)a)->offset;
	uint64_t right = ((const struct eh_frame_cie *)b)->offset;

	return left < right ? -1 : left > right;
}

/* FDEs mostly follow their CIE, so the last one is tried before searching. */
static const struct eh_frame_cie *find_cie(const struct eh_frame_index *index, uint64_t offset)
{
	struct eh_frame_cie key = {.offset = offset};

	if (index->n_cies == 0)
		return NULL;
	if (index->cies[index->n_cies - 1].offset == offset)
		return &index->cies[index->n_cies - 1];
	return bsearch(&key, index->cies, index->n_cies, sizeof(key), compare_cies);
}

static int add_fde(struct builder *builder, uint64_t offset, const Dwarf_FDE *fde)
{
	struct eh_frame_index *index = builder->index;
	const struct eh_frame_cie *cie = find_cie(index, fde->CIE_pointer);
	struct scan scan = scan_over(fde->start, fde->end);
	uint64_t start, length, raw;
	int r;

	if (!cie) {
		index->n_bad++;
		return 0;
	}
	start = read_pointer(index, &scan, cie->pointer_encoding, &raw);
	length = scan_unsigned(&scan, pointer_size(cie->pointer_encoding));
	/* Linkers leave a zero where they dropped the function. */
	if (raw == 0 && !scan.failed)
		return 0;
	if (scan.failed || length == 0 || start + length < start) {
		index->n_bad++;
		return 0;
	}
	r = GROW_BY_ONE(index->fdes, builder->n_fdes_allocated, index->n_fdes);
	if (r < 0)
		return r;
	index->fdes[index->n_fdes++] = (struct eh_frame_fde){
	        .start = start,
	        .end = start + length,
	        .offset = offset,
	        .cie = (size_t)(cie - index->cies),
	};
	return 0;
}

/* Entries of the 64-bit DWARF format: producers do not agree on the size of their CIE pointer, and none has
 * been seen in an .eh_frame. */
static bool is_64_bit(const uint8_t *entry)
{
	return memcmp(entry, "\xff\xff\xff\xff", 4) == 0;
}

static int add_entries(struct builder *builder)
{
	static const unsigned char ident[EI_NIDENT] = {
	        ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
	struct eh_frame_index *index = builder->index;
	Elf_Data data = {.d_buf = (void *)index->bytes,
	        .d_type = ELF_T_BYTE,
	        .d_size = index->n_bytes,
	        .d_version = EV_CURRENT};
	Dwarf_Off offset = 0, next = 0;
	int r;

	for (; index->n_bytes - offset >= 4; offset = next) {
		Dwarf_CFI_Entry entry;

		/* The terminator of one object file may stand in the middle of a linked section. */
		if (memcmp(index->bytes + offset, "\0\0\0\0", 4) == 0) {
			next = offset + 4;
			continue;
		}
		r = dwarf_next_cfi(ident, &data, true, offset, &next, &entry);
		if (r < 0 && next > offset && next <= index->n_bytes) {
			index->n_bad++;
			continue;
		}
		if (r != 0 || next <= offset || next > index->n_bytes) {
			index->n_bad++;
			return 0;
		}
		if (is_64_bit(index->bytes + offset))
			index->n_bad++;
		else if (dwarf_cfi_cie_p(&entry))
			r = add_cie(builder, offset, &entry.cie);
		else
			r = add_fde(builder, offset, &entry.fde);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_fdes(const void *a, const void *b)
{
	const struct eh_frame_fde *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Sorts, and keeps the first in the section of those with equal starts. */
static void sort_fdes(struct eh_frame_index *index)
{
	size_t n = 0;

	if (index->n_fdes == 0)
		return;
	qsort(index->fdes, index->n_fdes, sizeof(index->fdes[0]), compare_fdes);
	for (size_t i = 0; i < index->n_fdes; i++) {
		if (n == 0 || index->fdes[n - 1].start != index->fdes[i].start)
			index->fdes[n++] = index->fdes[i];
	}
	index->n_fdes = n;
}

int eh_frame_index_init(struct eh_frame_index *index, const uint8_t *bytes, size_t n_bytes, uint64_t svma)
{
	struct builder builder = {.index = index};
	int r;

	*index = (struct eh_frame_index){.bytes = bytes, .n_bytes = n_bytes, .svma = svma};
	r = add_entries(&builder);
	if (r < 0) {
		eh_frame_index_deinit(index);
		return r;
	}
	sort_fdes(index);
	return 0;
}

void eh_frame_index_deinit(struct eh_frame_index *index)
{
	free(index->fdes);
	free(index->cies);
	*index = (struct eh_frame_index){0};
}

const struct eh_frame_fde *eh_frame_index_find(const struct eh_frame_index *index, uint64_t svma)
{
	size_t low = 0, high = index->n_fdes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->fdes[middle].start <= svma)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || svma >= index->fdes[low - 1].end)
		return NULL;
	return &index->fdes[low - 1];
}

unsigned eh_frame_pointer_size(const struct eh_frame_cie *cie)
{
	return pointer_size(cie->pointer_encoding);
}

bool eh_frame_instructions(const struct eh_frame_index *index, const struct eh_frame_fde *fde,
        const uint8_t **ret_start, const uint8_t **ret_end)
{
	const struct eh_frame_cie *cie = &index->cies[fde->cie];
	struct scan entry = scan_over(index->bytes + fde->offset, index->bytes + index->n_bytes);
	uint64_t length = scan_unsigned(&entry, 4);

	/* The length was checked when the index was made. */
	entry.end = entry.at + length;
	scan_skip(&entry, 4 + 2 * pointer_size(cie->pointer_encoding));
	if (cie->has_length)
		scan_skip(&entry, scan_uleb128(&entry));
	if (entry.failed)
		return false;
	*ret_start = entry.at;
	*ret_end = entry.end;
	return true;
}
