/* ehframe.c: finds .eh_frame and .eh_frame_hdr of a module. */
#include "module/ehframe.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/file.h"

#define SPAN_MAX (UINT64_C(1) << 30) /* bytes; the largest real ones have some 10 MB */

/* Where the bytes of one of the two sections are. */
struct span {
	uint64_t svma;
	uint64_t size;
	uint64_t offset;
};

static bool find_section(const struct module_elf *module, const char *name, struct span *ret_span)
{
	struct module_section section;

	if (!module_elf_section(module, name, &section) || section.header.sh_size == 0)
		return false;
	*ret_span = (struct span){
	        .svma = section.header.sh_addr,
	        .size = section.header.sh_size,
	        .offset = section.header.sh_offset,
	};
	return true;
}

static bool find_header_segment(const struct module_elf *module, struct span *ret_span)
{
	uint64_t available;

	*ret_span = (struct span){.svma = module->eh_frame_hdr_svma, .size = module->eh_frame_hdr_size};
	return module->has_eh_frame_hdr_segment && ret_span->size > 0 &&
	       module_elf_offset(module, ret_span->svma, &ret_span->offset, &available) &&
	       available >= ret_span->size;
}

static bool header_value(const uint8_t *header, size_t n, uint64_t *ret_value)
{
	int32_t value;

	switch (header[1] & 0x0f) {
	case DW_EH_PE_sdata4:
		memcpy(&value, header + 4, sizeof(value));
		*ret_value = (uint64_t)(int64_t)value;
		return true;
	case DW_EH_PE_udata4:
		memcpy(&value, header + 4, sizeof(value));
		*ret_value = (uint32_t)value;
		return true;
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		if (n < 12)
			return false;
		memcpy(ret_value, header + 4, sizeof(*ret_value));
		return true;
	default:
		return false;
	}
}

bool ehframe_of_header(const uint8_t *header, size_t n, uint64_t svma, uint64_t *ret_eh_frame)
{
	uint64_t value;

	if (n < 8 || header[0] != 1 || !header_value(header, n, &value))
		return false;
	switch (header[1] & 0xf0) {
	case 0:
		*ret_eh_frame = value;
		return true;
	case DW_EH_PE_pcrel:
		*ret_eh_frame = svma + 4 + value;
		return true;
	case DW_EH_PE_datarel:
		*ret_eh_frame = svma + value;
		return true;
	default:
		return false;
	}
}

size_t ehframe_length(const uint8_t *bytes, size_t n)
{
	size_t at = 0;

	while (n - at >= 4) {
		uint64_t length = 0, n_head = 4;

		memcpy(&length, bytes + at, 4);
		if (length == 0)
			return at + 4;
		if (length == 0xffffffff) { /* the 64-bit form */
			if (n - at < 12)
				break;
			memcpy(&length, bytes + at + 4, 8);
			n_head = 12;
		}
		if (length > n - at - n_head)
			break;
		at += (size_t)(n_head + length);
	}
	return at;
}

/* Reads a span behind what data->memory holds already, n_before bytes. */
static int read_behind(const struct module_elf *module, const struct span *span, size_t n_before,
        struct unwind_data *data, const char **ret_reason)
{
	uint8_t *memory;
	int r;

	*ret_reason = "its unwind data lie outside the file";
	if (span->offset > module->file_size || span->size > module->file_size - span->offset)
		return -EBADMSG;
	*ret_reason = "its unwind data are larger than 1 GiB";
	if (span->size > SPAN_MAX)
		return -EBADMSG;
	*ret_reason = "out of memory";
	memory = realloc(data->memory, n_before + span->size);
	if (!memory)
		return -ENOMEM;
	data->memory = memory;
	*ret_reason = "its unwind data cannot be read";
	r = file_read_at(module->fd, memory + n_before, span->size, span->offset);
	return r == -ENODATA ? -EBADMSG : r;
}

/* Without a section: from where the header points to the segment's end. */
static bool find_behind_header(
        const struct module_elf *module, const struct unwind_data *data, struct span *ret_span)
{
	return ehframe_of_header(
	               data->memory, data->n_eh_frame_hdr, data->eh_frame_hdr_start, &ret_span->svma) &&
	       module_elf_offset(module, ret_span->svma, &ret_span->offset, &ret_span->size);
}

static int read_header(const struct module_elf *module, struct unwind_data *data, const char **ret_reason)
{
	struct span span;
	int r;

	if (!find_section(module, ".eh_frame_hdr", &span) && !find_header_segment(module, &span))
		return 0;
	r = read_behind(module, &span, 0, data, ret_reason);
	if (r < 0)
		return r;
	data->has_eh_frame_hdr = true;
	data->n_eh_frame_hdr = span.size;
	data->eh_frame_hdr_start = span.svma;
	data->eh_frame_hdr_end = span.svma + span.size;
	return 0;
}

static int read_frames(const struct module_elf *module, struct unwind_data *data, const char **ret_reason)
{
	bool has_section;
	struct span span;
	int r;

	has_section = find_section(module, ".eh_frame", &span);
	*ret_reason = data->has_eh_frame_hdr ? "its .eh_frame_hdr points nowhere" : "no .eh_frame";
	if (!has_section && !(data->has_eh_frame_hdr && find_behind_header(module, data, &span)))
		return data->has_eh_frame_hdr ? -EBADMSG : -ENOENT;
	r = read_behind(module, &span, data->n_eh_frame_hdr, data, ret_reason);
	if (r < 0)
		return r;
	data->eh_frame_hdr = data->memory;
	data->eh_frame = (uint8_t *)data->memory + data->n_eh_frame_hdr;
	data->n_eh_frame = has_section ? span.size : ehframe_length(data->eh_frame, span.size);
	data->eh_frame_start = span.svma;
	data->eh_frame_end = span.svma + data->n_eh_frame;
	return 0;
}

int ehframe_find(const struct module_elf *module, struct unwind_data *ret_data, const char **ret_reason)
{
	struct unwind_data data = {.base_svma = module->base_svma};
	int r = read_header(module, &data, ret_reason);

	if (r >= 0)
		r = read_frames(module, &data, ret_reason);
	if (r < 0) {
		unwind_data_deinit(&data);
		return r;
	}
	*ret_data = data;
	return 0;
}
