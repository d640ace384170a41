/* site.c: decoding of entry blocks. */
#include "probe/site.h"

#include <errno.h>

#include "util/cleanup.h"

#if defined(__x86_64__)

#include <Zydis/Zydis.h>

#define MAX_INSTRUCTIONS 8

struct decoded {
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static const ZydisRegister argument_registers[] = {
	ZYDIS_REGISTER_RDI,
	ZYDIS_REGISTER_RSI,
	ZYDIS_REGISTER_RDX,
	ZYDIS_REGISTER_RCX,
	ZYDIS_REGISTER_R8,
	ZYDIS_REGISTER_R9,
};

static bool decode(const ZydisDecoder *decoder, const uint8_t *code, size_t n_code, struct decoded *ret)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code, n_code, &ret->instruction, ret->operands));
}

/* Where a relative branch or call goes; false for everything else. */
static bool relative_target(const struct decoded *decoded, uint64_t address, uint64_t *ret_target)
{
	if (!(decoded->instruction.attributes & ZYDIS_ATTRIB_IS_RELATIVE))
		return false;
	for (unsigned i = 0; i < decoded->instruction.operand_count; i++)
		if (decoded->operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(
				&decoded->instruction, &decoded->operands[i], address, ret_target));
	return false;
}

static bool is_emulated(const struct decoded *decoded)
{
	uint64_t ignored;

	switch (decoded->instruction.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		return decoded->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			decoded->operands[0].size == 64 && decoded->instruction.length <= 2;
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_ENDBR64:
		return true;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_XBEGIN:
		return false;
	default:
		return relative_target(decoded, 0, &ignored);
	}
}

static bool writes_register(const struct decoded *decoded, ZydisRegister wanted)
{
	for (unsigned i = 0; i < decoded->instruction.operand_count; i++) {
		const ZydisDecodedOperand *operand = &decoded->operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
			!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value) == wanted)
			return true;
	}
	return false;
}

/* May the probe go behind this instruction? It must fall through and leave what the probe reads alone. */
static bool is_passable(const struct decoded *decoded, unsigned n_arguments)
{
	switch (decoded->instruction.meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_INTERRUPT:
		return false;
	default:
		break;
	}
	if (writes_register(decoded, ZYDIS_REGISTER_RSP))
		return false;
	for (unsigned i = 0; i < n_arguments && i < N_ELEMENTS(argument_registers); i++)
		if (writes_register(decoded, argument_registers[i]))
			return false;
	return true;
}

/* Offset of the first emulated instruction that may be probed, or -1. */
static int first_emulated(const ZydisDecoder *decoder, const uint8_t *code, size_t n_code, unsigned n_arguments)
{
	size_t offset = 0;

	for (unsigned i = 0; i < MAX_INSTRUCTIONS && offset < n_code; i++) {
		struct decoded decoded;

		if (!decode(decoder, code + offset, n_code - offset, &decoded))
			return -1;
		if (is_emulated(&decoded))
			return offset;
		if (!is_passable(&decoded, n_arguments))
			return -1;
		offset += decoded.instruction.length;
	}
	return -1;
}

/* Does a branch of the function land behind its entry, up to and including `offset`? Bytes that cannot be decoded
 * (data between code) are stepped over one by one: a branch found there by mistake only costs the better site. */
static bool branch_lands_before(const ZydisDecoder *decoder, const uint8_t *code, size_t n_code, uint64_t address,
	unsigned offset)
{
	for (size_t at = 0; at < n_code;) {
		struct decoded decoded;
		uint64_t target;

		if (!decode(decoder, code + at, n_code - at, &decoded)) {
			at++;
			continue;
		}
		if (relative_target(&decoded, address + at, &target) && target > address && target <= address + offset)
			return true;
		at += decoded.instruction.length;
	}
	return false;
}

int site_choose(const uint8_t *code, size_t n_code, uint64_t address, unsigned n_arguments, struct site *ret_site)
{
	struct site site = {};
	ZydisDecoder decoder;
	struct decoded first;
	int offset;

	if (!n_code)
		return -EINVAL;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	offset = first_emulated(&decoder, code, n_code, n_arguments);
	if (offset > 0 && branch_lands_before(&decoder, code, n_code, address, offset))
		offset = -1;
	if (offset > 0)
		site.offset = offset;
	site.emulated = offset >= 0 || (decode(&decoder, code, n_code, &first) && is_emulated(&first));
	*ret_site = site;
	return 0;
}

#else

int site_choose(const uint8_t *code, size_t n_code, uint64_t address, unsigned n_arguments, struct site *ret_site)
{
	(void)code;
	(void)address;
	(void)n_arguments;
	if (!n_code)
		return -EINVAL;
	*ret_site = (struct site){.offset = 0, .emulated = false};
	return 0;
}

#endif
