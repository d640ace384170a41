/* cfi.c: entries, instructions, states. */
#include "unwind/cfi.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "record.h"
#include "unwind/cursor.h"

/* DWARF register numbers of x86-64. */
#define REG_RBP 6
#define REG_RSP 7
#define REG_RA  16

/* DW_EH_PE_…: encodings of pointers, LSB Core. */
#define PE_ABSPTR 0x00
#define PE_UDATA2 0x02
#define PE_UDATA4 0x03
#define PE_UDATA8 0x04
#define PE_SDATA2 0x0a
#define PE_SDATA4 0x0b
#define PE_SDATA8 0x0c
#define PE_PCREL  0x10
#define PE_OMIT   0xff

#define MAX_REMEMBERED 16

/* A pointer in the given encoding. *ret_known is false for encodings that no code address uses. */
static uint64_t read_pointer(struct cursor *cursor, const struct cfi_section *section, uint8_t encoding, bool *ret_known)
{
	uint64_t place = section->svma + (cursor->at - section->data), value;

	*ret_known = (encoding & 0xf0) == 0 || (encoding & 0xf0) == PE_PCREL;
	switch (encoding & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		value = read_bytes(cursor, 8);
		break;
	case PE_UDATA4:
		value = read_bytes(cursor, 4);
		break;
	case PE_SDATA4:
		value = (int64_t)(int32_t)read_bytes(cursor, 4);
		break;
	case PE_UDATA2:
		value = read_bytes(cursor, 2);
		break;
	case PE_SDATA2:
		value = (int64_t)(int16_t)read_bytes(cursor, 2);
		break;
	default:
		*ret_known = false;
		return 0;
	}
	return (encoding & 0xf0) == PE_PCREL ? place + value : value;
}

enum cfa_form {
	CFA_REGISTER, /* register + offset */
	CFA_DEREF,    /* word at FP + offset */
	CFA_PLT,
	CFA_OTHER,
};

enum saved_form {
	SAVED_NOT,   /* unspecified or same value */
	SAVED_AT,    /* at CFA + offset */
	SAVED_HERE,  /* at the address in the frame pointer */
	SAVED_NEVER, /* undefined */
	SAVED_OTHER,
};

struct saved {
	enum saved_form form;
	int64_t offset;
};

struct state {
	enum cfa_form form;
	uint64_t reg;
	int64_t offset;
	struct saved fp, ra;
};

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool augmented; /* FDEs have augmentation data */
	bool signal;
	struct state initial;
};

struct program {
	const struct cfi_section *section;
	const struct cie *cie;
	struct state state;
	struct state remembered[MAX_REMEMBERED];
	unsigned n_remembered;
	uint64_t svma, end;
	cfi_row row;
	void *context;
};

static uint32_t cfa_words(int64_t offset, bool *ok)
{
	if (offset < 0 || offset % 8 || offset / 8 > RULE_CFA_MAX)
		*ok = false;
	return offset / 8;
}

static uint32_t fp_words(const struct saved *saved)
{
	switch (saved->form) {
	case SAVED_NOT:
		return RULE_FP_SAME;
	case SAVED_HERE:
		return RULE_FP_HERE;
	case SAVED_AT:
		if (saved->offset < 0 && saved->offset % 8 == 0 && -saved->offset / 8 <= RULE_FP_MAX)
			return -saved->offset / 8;
		return RULE_FP_LOST;
	default:
		return RULE_FP_LOST;
	}
}

/* The state as one word. */
static uint32_t rule_of(const struct program *program)
{
	const struct state *state = &program->state;
	uint32_t kind, cfa = 0;
	bool ok = true;

	if (program->cie->signal)
		return RULE(RULE_SIGNAL, 0, 0);
	if (state->ra.form == SAVED_NEVER)
		return RULE(RULE_END, 0, 0);
	if (state->ra.form != SAVED_AT || state->ra.offset != -8)
		return RULE(RULE_UNSUPPORTED, 0, 0);
	switch (state->form) {
	case CFA_REGISTER:
		kind = state->reg == REG_RSP ? RULE_SP : state->reg == REG_RBP ? RULE_FP_BASED : RULE_UNSUPPORTED;
		cfa = cfa_words(state->offset, &ok);
		break;
	case CFA_DEREF:
		kind = RULE_DEREF;
		cfa = cfa_words(-state->offset, &ok);
		break;
	case CFA_PLT:
		kind = RULE_PLT;
		break;
	default:
		kind = RULE_UNSUPPORTED;
	}
	if (!ok || kind == RULE_UNSUPPORTED)
		return RULE(RULE_UNSUPPORTED, 0, 0);
	return RULE(kind, cfa, fp_words(&state->fp));
}

static int emit(struct program *program)
{
	if (program->svma >= program->end)
		return 0;
	return program->row(program->context, program->svma, program->end, rule_of(program));
}

static int advance(struct program *program, uint64_t svma)
{
	int r = emit(program);

	program->svma = svma;
	return r;
}

static struct saved *saved_of(struct program *program, uint64_t reg)
{
	return reg == REG_RBP ? &program->state.fp : reg == REG_RA ? &program->state.ra : NULL;
}

static void set_saved(struct program *program, uint64_t reg, enum saved_form form, int64_t offset)
{
	struct saved *saved = saved_of(program, reg);

	if (saved)
		*saved = (struct saved){form, offset};
}

static void restore_saved(struct program *program, uint64_t reg)
{
	if (reg == REG_RBP)
		program->state.fp = program->cie->initial.fp;
	else if (reg == REG_RA)
		program->state.ra = program->cie->initial.ra;
}

/* The expressions that compilers and linkers write for a CFA: a PLT entry's, and a realigned frame's. */
static void set_cfa_expression(struct state *state, const uint8_t *bytes, uint64_t n)
{
	/* breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus */
	static const uint8_t plt[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	struct cursor cursor = {bytes, bytes + n, false};
	int64_t offset;

	state->form = CFA_OTHER;
	if (n == sizeof(plt) && !memcmp(bytes, plt, n)) {
		state->form = CFA_PLT;
		return;
	}
	if (read_bytes(&cursor, 1) != 0x76) /* breg6 */
		return;
	offset = read_sleb(&cursor);
	if (read_bytes(&cursor, 1) == 0x06 && cursor.at == cursor.end && !cursor.bad) { /* deref */
		state->form = CFA_DEREF;
		state->offset = offset;
	}
}

static void set_saved_expression(struct program *program, uint64_t reg, const uint8_t *bytes, uint64_t n)
{
	bool here = reg == REG_RBP && n == 2 && bytes[0] == 0x76 && bytes[1] == 0; /* breg6 0 */

	set_saved(program, reg, here ? SAVED_HERE : SAVED_OTHER, 0);
}

/* Instructions whose operands are in the opcode byte, or that move on. */
static int execute_location(struct program *program, struct cursor *cursor, uint8_t opcode)
{
	const struct cie *cie = program->cie;
	bool known;

	switch (opcode) {
	case 0x01: /* set_loc */
		return advance(program, read_pointer(cursor, program->section, cie->encoding, &known));
	case 0x02: /* advance_loc1, 2, 4 */
		return advance(program, program->svma + read_bytes(cursor, 1) * cie->code_align);
	case 0x03:
		return advance(program, program->svma + read_bytes(cursor, 2) * cie->code_align);
	default:
		return advance(program, program->svma + read_bytes(cursor, 4) * cie->code_align);
	}
}

static void execute_cfa(struct program *program, struct cursor *cursor, uint8_t opcode)
{
	struct state *state = &program->state;
	int64_t align = program->cie->data_align;
	uint64_t n;

	switch (opcode) {
	case 0x0c: /* def_cfa */
	case 0x12: /* def_cfa_sf */
		state->reg = read_uleb(cursor);
		state->offset = opcode == 0x0c ? (int64_t)read_uleb(cursor) : read_sleb(cursor) * align;
		state->form = CFA_REGISTER;
		break;
	case 0x0d: /* def_cfa_register */
		state->reg = read_uleb(cursor);
		break;
	case 0x0e: /* def_cfa_offset */
		state->offset = read_uleb(cursor);
		break;
	case 0x13: /* def_cfa_offset_sf */
		state->offset = read_sleb(cursor) * align;
		break;
	default: /* def_cfa_expression */
		n = read_uleb(cursor);
		if (n <= (size_t)(cursor->end - cursor->at))
			set_cfa_expression(state, cursor->at, n);
		skip(cursor, n);
	}
}

static void execute_register(struct program *program, struct cursor *cursor, uint8_t opcode)
{
	int64_t align = program->cie->data_align;
	uint64_t reg = read_uleb(cursor), n;

	switch (opcode) {
	case 0x05: /* offset_extended */
		set_saved(program, reg, SAVED_AT, read_uleb(cursor) * align);
		break;
	case 0x11: /* offset_extended_sf */
		set_saved(program, reg, SAVED_AT, read_sleb(cursor) * align);
		break;
	case 0x2f: /* GNU_negative_offset_extended */
		set_saved(program, reg, SAVED_AT, -(int64_t)(read_uleb(cursor) * align));
		break;
	case 0x06: /* restore_extended */
		restore_saved(program, reg);
		break;
	case 0x07: /* undefined */
		set_saved(program, reg, SAVED_NEVER, 0);
		break;
	case 0x08: /* same_value */
		set_saved(program, reg, SAVED_NOT, 0);
		break;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		n = read_uleb(cursor);
		if (opcode == 0x10 && n <= (size_t)(cursor->end - cursor->at))
			set_saved_expression(program, reg, cursor->at, n);
		else
			set_saved(program, reg, SAVED_OTHER, 0);
		skip(cursor, n);
		break;
	default: /* register, val_offset, val_offset_sf: one more operand, no simple form */
		read_uleb(cursor);
		set_saved(program, reg, SAVED_OTHER, 0);
	}
}

static int execute_other(struct program *program, struct cursor *cursor, uint8_t opcode)
{
	switch (opcode) {
	case 0x00: /* nop */
	case 0x2d: /* AARCH64_negate_ra_state */
		return 0;
	case 0x0a: /* remember_state */
		if (program->n_remembered == MAX_REMEMBERED)
			return -EBADMSG;
		program->remembered[program->n_remembered++] = program->state;
		return 0;
	case 0x0b: /* restore_state */
		if (!program->n_remembered)
			return -EBADMSG;
		program->state = program->remembered[--program->n_remembered];
		return 0;
	case 0x2e: /* GNU_args_size */
		read_uleb(cursor);
		return 0;
	default:
		return -EBADMSG;
	}
}

static int execute_one(struct program *program, struct cursor *cursor)
{
	uint8_t opcode = read_bytes(cursor, 1), operand = opcode & 0x3f;

	switch (opcode >> 6) {
	case 1: /* advance_loc */
		return advance(program, program->svma + operand * program->cie->code_align);
	case 2: /* offset */
		set_saved(program, operand, SAVED_AT, read_uleb(cursor) * program->cie->data_align);
		return 0;
	case 3: /* restore */
		restore_saved(program, operand);
		return 0;
	}
	switch (opcode) {
	case 0x01 ... 0x04:
		return execute_location(program, cursor, opcode);
	case 0x0c ... 0x0f:
	case 0x12 ... 0x13:
		execute_cfa(program, cursor, opcode);
		return 0;
	case 0x05 ... 0x09:
	case 0x10 ... 0x11:
	case 0x14 ... 0x16:
	case 0x2f:
		execute_register(program, cursor, opcode);
		return 0;
	default:
		return execute_other(program, cursor, opcode);
	}
}

static int execute(struct program *program, struct cursor *cursor)
{
	while (cursor->at < cursor->end) {
		int r = execute_one(program, cursor);

		if (r)
			return r;
		if (cursor->bad)
			return -EBADMSG;
	}
	return 0;
}

static int ignore_row(void *context, uint64_t svma, uint64_t end, uint32_t rule)
{
	(void)context;
	(void)svma;
	(void)end;
	(void)rule;
	return 0;
}

/* What the augmentation string says; the data follows its length. */
static bool read_augmentation(struct cursor *cursor, const struct cfi_section *section, const char *string, struct cie *cie)
{
	struct cursor data;
	uint64_t n;
	bool known;

	if (!string[0])
		return true;
	if (string[0] != 'z')
		return false;
	cie->augmented = true;
	n = read_uleb(cursor);
	data = *cursor;
	skip(cursor, n);
	data.end = cursor->at;
	for (const char *letter = string + 1; *letter; letter++) {
		switch (*letter) {
		case 'R':
			cie->encoding = read_bytes(&data, 1);
			break;
		case 'L':
			read_bytes(&data, 1);
			break;
		case 'P':
			read_pointer(&data, section, read_bytes(&data, 1) & 0x7f, &known);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':
			break;
		default:
			return true; /* the rest is not understood, and not needed */
		}
	}
	return true;
}

/* Parses the CIE at `cursor` (behind its id). */
static bool read_cie(struct cursor cursor, const struct cfi_section *section, struct cie *ret_cie)
{
	struct cie cie = {.encoding = PE_ABSPTR};
	struct program program = {.section = section, .cie = &cie, .row = ignore_row};
	uint8_t version = read_bytes(&cursor, 1);
	const char *string = (const char *)cursor.at;
	const uint8_t *nul = memchr(cursor.at, 0, cursor.end - cursor.at);

	if (!nul || (version != 1 && version != 3))
		return false;
	cursor.at = nul + 1;
	cie.code_align = read_uleb(&cursor);
	cie.data_align = read_sleb(&cursor);
	if (version == 1)
		read_bytes(&cursor, 1);
	else
		read_uleb(&cursor);
	if (!read_augmentation(&cursor, section, string, &cie) || cursor.bad)
		return false;
	if (execute(&program, &cursor))
		return false;
	cie.initial = program.state;
	*ret_cie = cie;
	return true;
}

struct entry {
	struct cursor body; /* behind the id */
	uint64_t id;
	size_t id_offset; /* in the section */
	size_t next;
};

/* The entry at `offset`; false at the end of the section or where it is broken (*ret_bad). */
static bool read_entry(const struct cfi_section *section, size_t offset, struct entry *ret_entry, bool *ret_bad)
{
	struct cursor cursor = {section->data + offset, section->data + section->n_data, false};
	uint64_t length = read_bytes(&cursor, 4);

	if (length == 0xffffffff)
		length = read_bytes(&cursor, 8);
	if (cursor.bad || !length) {
		*ret_bad = cursor.bad && offset < section->n_data;
		return false;
	}
	if (length < 4 || length > (size_t)(cursor.end - cursor.at)) {
		*ret_bad = true;
		return false;
	}
	cursor.end = cursor.at + length;
	ret_entry->id_offset = cursor.at - section->data;
	ret_entry->next = cursor.end - section->data;
	ret_entry->id = read_bytes(&cursor, 4);
	ret_entry->body = cursor;
	return true;
}

static int read_fde(const struct cfi_section *section, struct entry *entry, const struct cie *cie, cfi_row row,
	void *context)
{
	struct cursor *cursor = &entry->body;
	struct program program = {.section = section, .cie = cie, .state = cie->initial, .row = row, .context = context};
	bool known, length_known;
	uint64_t length;
	int r;

	program.svma = read_pointer(cursor, section, cie->encoding, &known);
	length = read_pointer(cursor, section, cie->encoding & 0x0f, &length_known);
	program.end = program.svma + length;
	if (cie->augmented)
		skip(cursor, read_uleb(cursor));
	if (!known || !length_known || cursor->bad || program.end < program.svma)
		return -EBADMSG;
	r = execute(&program, cursor);
	if (r == -EBADMSG) {
		/* The rest of this function has no rule; the others do. */
		program.state.form = CFA_OTHER;
		r = 0;
	}
	return r ? r : emit(&program);
}

int cfi_read(const struct cfi_section *section, cfi_row row, void *context)
{
	struct entry entry;
	struct cie cie = {};
	size_t offset = 0, cie_offset = SIZE_MAX;
	bool bad = false, cie_good = false;

	while (read_entry(section, offset, &entry, &bad)) {
		offset = entry.next;
		if (entry.id) {
			size_t wanted = entry.id_offset - entry.id;
			struct entry cie_entry;
			int r;

			if (wanted != cie_offset) {
				cie_offset = wanted;
				cie_good = wanted < section->n_data && read_entry(section, wanted, &cie_entry, &bad) &&
					!cie_entry.id && read_cie(cie_entry.body, section, &cie);
			}
			if (!cie_good) {
				bad = true;
				continue;
			}
			r = read_fde(section, &entry, &cie, row, context);
			if (r == -EBADMSG)
				bad = true;
			else if (r)
				return r;
		}
	}
	return bad ? -EBADMSG : 0;
}
