/* test_may_goto.c: the instruction that older kernels do not know is taken out of the object, all of it and nothing
 * else. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/may_goto.h"
#include "memory.skel.h"

#define MAY_GOTO (BPF_JMP | 0xe0)

Test(may_goto, is_taken_out_of_the_object)
{
	size_t n, n_different = 0;
	const char *object = memory_bpf__elf_bytes(&n);
	char *copy = malloc(n);
	int n_removed;

	cr_assert_not_null(copy);
	memcpy(copy, object, n);
	n_removed = may_goto_remove(copy, n);
	cr_assert_gt(n_removed, 0);
	cr_assert_eq(may_goto_remove(copy, n), 0, "some were left");
	/* Instructions are whole words of the file. */
	for (size_t i = 0; i + 8 <= n; i += 8) {
		const struct bpf_insn *before = (const void *)(object + i), *after = (const void *)(copy + i);

		if (memcmp(before, after, 8) == 0)
			continue;
		n_different++;
		cr_expect_eq(before->code, MAY_GOTO);
		cr_expect_eq(after->code, BPF_JMP | BPF_JA);
		cr_expect_eq(after->off, 0);
	}
	cr_expect_eq(n_different, (size_t)n_removed);
	free(copy);
}

Test(may_goto, what_is_no_object_is_refused)
{
	char nothing[256] = "no object";

	cr_expect_eq(may_goto_remove(nothing, sizeof(nothing)), -EINVAL);
	cr_expect_eq(may_goto_remove(nothing, 0), -EINVAL);
}
