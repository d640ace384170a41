/* secret N: N blocks, allocated while what nobody else may see is on the stack, in registers, and where a
 * frame pointer would point to in a program that has frame pointers: this one has none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity/secret.h"

#define FRAME __attribute__((noinline, noclone))

/* Not as it is anywhere in the program. */
static uint64_t reveal(void)
{
	volatile uint64_t half = SECRET_WORD ^ SECRET_MASK;

	return half ^ SECRET_MASK;
}

/* Called by name. */
__attribute__((used)) FRAME static void allocate(void)
{
	void *volatile block = malloc(100);

	free(block);
}

FRAME static void on_stack(unsigned offset)
{
	volatile char text[64] = {0};
	uint64_t secret = reveal();

	for (unsigned i = 0; i < sizeof(secret); i++)
		text[offset + i] = (char)(secret >> 8 * i);
	allocate();
	text[0] = text[offset];
}

#if defined(__x86_64__)
/* What the compiler knows of the registers is restored before it looks again. */
FRAME static void in_registers(void)
{
	uint64_t secret = reveal();

	__asm__ volatile("mov %0, %%rbx\n\tmov %0, %%r12\n\tmov %0, %%r13\n\tmov %0, %%r14\n\tcall allocate"
	                 :
	                 : "r"(secret)
	                 : "rbx", "r12", "r13", "r14", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
	                 "r11", "memory", "cc");
	allocate();
}

FRAME static void behind_frame_pointer(void)
{
	volatile uint64_t fake[4] = {0, reveal(), reveal(), 0};

	fake[0] = (uintptr_t)&fake[2];
	__asm__ volatile(
	        "mov %%rbp, %%r12\n\tmov %0, %%rbp\n\tcall allocate\n\tmov %%r12, %%rbp"
	        :
	        : "r"(fake)
	        : "r12", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	allocate();
	fake[0] = fake[1];
}
#else
static void in_registers(void)
{
}

static void behind_frame_pointer(void)
{
}
#endif

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;

	for (unsigned long i = 0; i < n; i++) {
		on_stack(i % 24);
		in_registers();
		behind_frame_pointer();
	}
	return 0;
}
