/* test_site.c: where a probe goes, on functions made for it. The sites of real allocators are single-stepped by
 * tests/capture. */
#include <criterion/criterion.h>
#include <errno.h>

#include "probe/site.h"

#define ADDRESS 0x1000

#if defined(__x86_64__)

#define CHOOSE(n_arguments, ...)                                                                           \
	({                                                                                                 \
		static const uint8_t code[] = {__VA_ARGS__};                                               \
		struct site chosen;                                                                        \
		cr_assert_eq(site_choose(code, sizeof(code), ADDRESS, n_arguments, &chosen), 0);           \
		chosen;                                                                                    \
	})

Test(site, push_at_the_entry)
{
	struct site site = CHOOSE(1, 0x41, 0x54, 0x55, 0xc3); /* push r12; push rbp; ret */

	cr_assert_eq(site.offset, 0);
	cr_assert(site.emulated);
}

Test(site, the_jump_behind_a_test)
{
	/* test rdi, rdi; je +4; push rbp; nop; pop rbp; ret */
	struct site site = CHOOSE(1, 0x48, 0x85, 0xff, 0x74, 0x04, 0x55, 0x90, 0x5d, 0xc3);

	cr_assert_eq(site.offset, 3);
	cr_assert(site.emulated);
}

Test(site, never_behind_a_change_of_the_stack_pointer)
{
	/* sub rsp, 24; nop; ret */
	struct site site = CHOOSE(1, 0x48, 0x83, 0xec, 0x18, 0x90, 0xc3);

	cr_assert_eq(site.offset, 0);
	cr_assert_not(site.emulated);
}

Test(site, never_behind_a_change_of_an_argument)
{
	/* mov rdi, rsi; push rbp; ret: fine for nobody who reads rdi, */
	struct site one = CHOOSE(1, 0x48, 0x89, 0xf7, 0x55, 0xc3);
	/* xor edx, edx; push rbp; ret: but rdx may change where only two are read. */
	struct site two = CHOOSE(2, 0x31, 0xd2, 0x55, 0xc3), three = CHOOSE(3, 0x31, 0xd2, 0x55, 0xc3);

	cr_assert_eq(one.offset, 0);
	cr_assert_eq(two.offset, 2);
	cr_assert_eq(three.offset, 0);
}

Test(site, never_where_a_branch_comes_back)
{
	/* test rdi, rdi; je +2; jmp to the je (eb fc); ret */
	struct site site = CHOOSE(1, 0x48, 0x85, 0xff, 0x74, 0x02, 0xeb, 0xfc, 0xc3);

	cr_assert_eq(site.offset, 0);
}

Test(site, never_behind_a_branch_that_is_stepped)
{
	/* jrcxz +1; push rbp; ret */
	struct site site = CHOOSE(1, 0xe3, 0x01, 0x55, 0xc3);

	cr_assert_eq(site.offset, 0);
	cr_assert_not(site.emulated);
}

#endif

Test(site, no_code)
{
	struct site site;

	cr_assert_eq(site_choose((const uint8_t *)"", 0, ADDRESS, 1, &site), -EINVAL);
}
