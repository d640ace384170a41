/* rules.h: .eh_frame compiled to what the kernel-side walk needs: per code position, where the caller is. */
#ifndef PLUGIN_UNWIND_RULES_H
#define PLUGIN_UNWIND_RULES_H

#include <stddef.h>
#include <stdint.h>

/* The rules of one file, as RULE_… rows of bpf/record.h: sorted by file offset, each valid up to the next. */
struct rules {
	uint64_t *rows;
	size_t n_rows;
	size_t n_unsupported; /* rows whose CFI has no simple form */
};

/* Compiles the unwind data of the ELF file open at `fd`. A file without any gives no rows, and so does one that is
 * no ELF. Positions that a 32-bit file offset cannot hold are left out. 0, -ENOMEM, -EIO, -EFBIG for an absurd
 * number of rows, or -EBADMSG where the
 * data is broken (what came before the damage is used). The caller ends *ret_rules with rules_deinit. */
int rules_compile(int fd, struct rules *ret_rules);

/* The rule for a file offset: a RULE_… word, RULE_NONE outside all rows. For tests; the kernel side has its own. */
uint32_t rules_find(const struct rules *rules, uint32_t file_offset);

void rules_deinit(struct rules *rules);

#endif
