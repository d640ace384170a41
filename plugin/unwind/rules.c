/* rules.c: rows of all functions, sorted, gaps filled. */
#include "unwind/rules.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "unwind/cfi.h"
#include "util/cleanup.h"

/* Between functions lies padding. Code without unwind data that is shorter than this cannot call anything and be
 * seen on a stack. */
#define MIN_GAP 16

/* Large programs have a few million rows; what has more was made to have them. */
#define MAX_SECTION (128u << 20)
#define MAX_SPANS   (8u << 20)

struct span {
	uint64_t svma, end;
	uint32_t rule;
};

struct spans {
	struct span *spans;
	size_t n_spans, n_space;
};

static int add_span(void *context, uint64_t svma, uint64_t end, uint32_t rule)
{
	struct spans *spans = context;

	/* A row ends where the next one of its function begins. */
	if (spans->n_spans && spans->spans[spans->n_spans - 1].end == end && spans->spans[spans->n_spans - 1].svma <= svma)
		spans->spans[spans->n_spans - 1].end = svma;
	if (spans->n_spans == MAX_SPANS)
		return -EFBIG;
	if (spans->n_spans == spans->n_space) {
		size_t n_space = spans->n_space ? spans->n_space * 2 : 1024;
		struct span *grown = reallocarray(spans->spans, n_space, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		spans->spans = grown;
		spans->n_space = n_space;
	}
	spans->spans[spans->n_spans++] = (struct span){svma, end, rule};
	return 0;
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->svma > y->svma) - (x->svma < y->svma);
}

/* Linkers keep the order of the functions, mostly. */
static void sort(struct spans *spans)
{
	for (size_t i = 1; i < spans->n_spans; i++)
		if (spans->spans[i].svma < spans->spans[i - 1].svma) {
			qsort(spans->spans, spans->n_spans, sizeof(*spans->spans), compare_spans);
			return;
		}
}

/* Executable segments: from addresses to file offsets. */
struct segments {
	GElf_Phdr headers[16];
	unsigned n_headers;
};

static void read_segments(Elf *elf, struct segments *segments)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && segments->n_headers < N_ELEMENTS(segments->headers); i++) {
		GElf_Phdr *header = &segments->headers[segments->n_headers];

		if (gelf_getphdr(elf, i, header) && header->p_type == PT_LOAD && (header->p_flags & PF_X))
			segments->n_headers++;
	}
}

/* The file offset of an address, or false where no executable segment holds it or 32 bits do not. */
static bool file_offset(const struct segments *segments, uint64_t svma, uint32_t *ret_offset)
{
	for (unsigned i = 0; i < segments->n_headers; i++) {
		const GElf_Phdr *header = &segments->headers[i];
		uint64_t offset = svma - header->p_vaddr + header->p_offset;

		if (svma < header->p_vaddr || svma - header->p_vaddr >= header->p_filesz)
			continue;
		if (offset > UINT32_MAX)
			return false;
		*ret_offset = offset;
		return true;
	}
	return false;
}

static void append(struct rules *rules, uint32_t offset, uint32_t rule)
{
	if (rules->n_rows && RULE_OFFSET(rules->rows[rules->n_rows - 1]) == offset)
		rules->n_rows--; /* an empty row, or the gap before it */
	if (rules->n_rows && (uint32_t)rules->rows[rules->n_rows - 1] == rule)
		return;
	rules->rows[rules->n_rows++] = RULE_ROW(offset, rule);
}

static int build(struct spans *spans, const struct segments *segments, struct rules *rules)
{
	rules->rows = reallocarray(NULL, spans->n_spans * 2 + 1, sizeof(*rules->rows));
	if (!rules->rows)
		return -ENOMEM;
	sort(spans);
	for (size_t i = 0; i < spans->n_spans; i++) {
		const struct span *span = &spans->spans[i];
		uint32_t offset;

		if (span->svma >= span->end || !file_offset(segments, span->svma, &offset))
			continue;
		append(rules, offset, span->rule);
		rules->n_unsupported += RULE_KIND(span->rule) == RULE_UNSUPPORTED;
		if (i + 1 == spans->n_spans || spans->spans[i + 1].svma >= span->end + MIN_GAP)
			append(rules, offset + (uint32_t)(span->end - span->svma), RULE(RULE_NONE, 0, 0));
	}
	return 0;
}

static void cleanup_elf(Elf **elf)
{
	elf_end(*elf);
}

/* .eh_frame by its section; files without section headers are rare enough to go without rules. */
static bool find_section(Elf *elf, struct cfi_section *ret_section)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS || header.sh_size > MAX_SECTION)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || strcmp(name, ".eh_frame"))
			continue;
		data = elf_rawdata(section, NULL);
		if (!data || !data->d_buf)
			return false;
		*ret_section = (struct cfi_section){data->d_buf, data->d_size, header.sh_addr};
		return true;
	}
	return false;
}

int rules_compile(int fd, struct rules *ret_rules)
{
	CLEANUP(cleanup_elf) Elf *elf = NULL;
	struct cfi_section section;
	struct segments segments = {};
	struct spans spans = {};
	struct rules rules = {};
	int broken, r;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return -EIO;
	*ret_rules = rules;
	if (elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 || !find_section(elf, &section))
		return 0;
	read_segments(elf, &segments);
	broken = cfi_read(&section, add_span, &spans);
	r = broken && broken != -EBADMSG ? broken : build(&spans, &segments, &rules);
	free(spans.spans);
	if (r) {
		rules_deinit(&rules);
		return r;
	}
	*ret_rules = rules;
	return broken;
}

uint32_t rules_find(const struct rules *rules, uint32_t offset)
{
	size_t low = 0, high = rules->n_rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (RULE_OFFSET(rules->rows[middle]) <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (uint32_t)rules->rows[low - 1] : RULE(RULE_NONE, 0, 0);
}

void rules_deinit(struct rules *rules)
{
	free(rules->rows);
	*rules = (struct rules){};
}
