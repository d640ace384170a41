/* may_goto.c: found by its operation code; the kernel's own headers here do not name it yet. */
#include "kernel/may_goto.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <gelf.h>
#include <linux/bpf.h>
#include <string.h>

#include "util/cleanup.h"

#define MAY_GOTO (BPF_JMP | 0xe0)

bool may_goto_probe(void)
{
	/* r0 = 0; may_goto +0; exit */
	const struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = MAY_GOTO},
		{.code = BPF_JMP | BPF_EXIT},
	};
	CLEANUP_CLOSE int program = bpf_prog_load(
		BPF_PROG_TYPE_KPROBE, NULL, "Dual MIT/GPL", instructions, N_ELEMENTS(instructions), NULL);

	return program >= 0;
}

static int remove_from(struct bpf_insn *instructions, size_t n)
{
	int n_removed = 0;

	for (size_t i = 0; i < n; i++) {
		if (instructions[i].code == (BPF_LD | BPF_IMM | BPF_DW)) {
			i++; /* two long; the second one is no instruction */
		} else if (instructions[i].code == MAY_GOTO) {
			instructions[i] = (struct bpf_insn){.code = BPF_JMP | BPF_JA};
			n_removed++;
		}
	}
	return n_removed;
}

int may_goto_remove(void *object, size_t n)
{
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_memory(object, n);
	Elf_Scn *section = NULL;
	int n_removed = 0;
	GElf_Shdr header;
	GElf_Ehdr file;

	if (!elf || !gelf_getehdr(elf, &file) || file.e_machine != EM_BPF)
		n_removed = -EINVAL;
	while (n_removed >= 0 && (section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
			!(header.sh_flags & SHF_EXECINSTR))
			continue;
		if (header.sh_offset > n || header.sh_size > n - header.sh_offset || header.sh_offset % sizeof(uint64_t))
			n_removed = -EINVAL;
		else
			n_removed += remove_from((struct bpf_insn *)((char *)object + header.sh_offset),
				header.sh_size / sizeof(struct bpf_insn));
	}
	elf_end(elf);
	return n_removed;
}
