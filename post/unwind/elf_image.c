/* elf_image.c: an ELF file in memory that holds nothing but call frame information. */
#include "unwind/elf_image.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* libdw looks at the sections in order and wants the header before the frames. */
enum section { SECTION_NULL, SECTION_HDR, SECTION_FRAME, SECTION_NAMES, N_SECTIONS };

static const char section_names[] = "\0.eh_frame_hdr\0.eh_frame\0.shstrtab";

#define NAME_HDR   1
#define NAME_FRAME 15
#define NAME_NAMES 25

/* version, three encodings, pointer to .eh_frame, number of entries; all pointers absolute */
#define HDR_FIXED 20
#define HDR_ENTRY 16

struct layout {
	size_t hdr;
	size_t hdr_size;
	size_t frame;
	size_t names;
	size_t sections;
	size_t size;
};

static size_t align8(size_t offset)
{
	return (offset + 7) & ~(size_t)7;
}

static struct layout lay_out(const struct eh_frame_index *index)
{
	struct layout layout = {.hdr = sizeof(Elf64_Ehdr), .hdr_size = HDR_FIXED + index->n_fdes * HDR_ENTRY};

	layout.frame = align8(layout.hdr + layout.hdr_size);
	layout.names = layout.frame + index->n_bytes;
	layout.sections = align8(layout.names + sizeof(section_names));
	layout.size = layout.sections + N_SECTIONS * sizeof(Elf64_Shdr);
	return layout;
}

static void write_hdr(const struct eh_frame_index *index, uint8_t *hdr)
{
	static const uint8_t encodings[4] = {1, DW_EH_PE_udata8, DW_EH_PE_udata8, DW_EH_PE_udata8};
	uint64_t n_fdes = index->n_fdes;

	memcpy(hdr, encodings, 4);
	memcpy(hdr + 4, &index->svma, 8);
	memcpy(hdr + 12, &n_fdes, 8);
	hdr += HDR_FIXED;
	for (size_t i = 0; i < index->n_fdes; i++, hdr += HDR_ENTRY) {
		uint64_t fde = index->svma + index->fdes[i].offset;

		memcpy(hdr, &index->fdes[i].start, 8);
		memcpy(hdr + 8, &fde, 8);
	}
}

static void write_sections(const struct eh_frame_index *index, const struct layout *layout, uint8_t *image)
{
	Elf64_Shdr sections[N_SECTIONS] = {
	        [SECTION_HDR] = {.sh_name = NAME_HDR,
	                .sh_type = SHT_PROGBITS,
	                .sh_flags = SHF_ALLOC,
	                .sh_offset = layout->hdr,
	                .sh_size = layout->hdr_size,
	                .sh_addralign = 1},
	        [SECTION_FRAME] = {.sh_name = NAME_FRAME,
	                .sh_type = SHT_PROGBITS,
	                .sh_flags = SHF_ALLOC,
	                .sh_addr = index->svma,
	                .sh_offset = layout->frame,
	                .sh_size = index->n_bytes,
	                .sh_addralign = 1},
	        [SECTION_NAMES] = {.sh_name = NAME_NAMES,
	                .sh_type = SHT_STRTAB,
	                .sh_offset = layout->names,
	                .sh_size = sizeof(section_names),
	                .sh_addralign = 1},
	};

	memcpy(image + layout->sections, sections, sizeof(sections));
}

static void write_header(uint16_t machine, const struct layout *layout, uint8_t *image)
{
	Elf64_Ehdr header = {
	        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	        .e_type = ET_DYN,
	        .e_machine = machine,
	        .e_version = EV_CURRENT,
	        .e_shoff = layout->sections,
	        .e_ehsize = sizeof(Elf64_Ehdr),
	        .e_shentsize = sizeof(Elf64_Shdr),
	        .e_shnum = N_SECTIONS,
	        .e_shstrndx = SECTION_NAMES,
	};

	memcpy(image, &header, sizeof(header));
}

int elf_image_build(
        const struct eh_frame_index *index, uint16_t machine, uint8_t **ret_image, size_t *ret_size)
{
	struct layout layout = lay_out(index);
	uint8_t *image = calloc(1, layout.size);

	if (!image)
		return -ENOMEM;
	write_header(machine, &layout, image);
	write_hdr(index, image + layout.hdr);
	memcpy(image + layout.frame, index->bytes, index->n_bytes);
	memcpy(image + layout.names, section_names, sizeof(section_names));
	write_sections(index, &layout, image);
	*ret_image = image;
	*ret_size = layout.size;
	return 0;
}
