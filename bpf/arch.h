/* arch.h: the register file of both architectures: layout of pt_regs, DWARF order, calling convention. */
#ifndef BPF_ARCH_H
#define BPF_ARCH_H

#include "record.h"

/* Keeps the compiler from merging the loads of two branches into one through a computed context pointer, which
 * the verifier refuses. */
#define LOAD_REG(register)                                                                                 \
	({                                                                                                 \
		record_u64 loaded = (register);                                                            \
		asm volatile("" : "+r"(loaded));                                                           \
		loaded;                                                                                    \
	})

#if defined(__TARGET_ARCH_x86)

/* arch/x86/include/asm/ptrace.h: the layout is ABI (core dumps, ptrace). */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

#define REGS_IP(regs)     ((regs)->ip)
#define REGS_SP(regs)     ((regs)->sp)
#define REGS_FP(regs)     ((regs)->bp)
#define REGS_RESULT(regs) ((regs)->ax)

/* The word at SP on entry is the return address; the return pops it. */
#define RETURN_SLOT_ON_STACK 1
#define RETURN_POPS          8

/* System V AMD64 ABI, figure 3.36: DWARF register numbers. */
static __always_inline void regs_to_dwarf(const struct pt_regs *regs, record_u64 *dwarf)
{
	dwarf[0] = regs->ax;
	dwarf[1] = regs->dx;
	dwarf[2] = regs->cx;
	dwarf[3] = regs->bx;
	dwarf[4] = regs->si;
	dwarf[5] = regs->di;
	dwarf[6] = regs->bp;
	dwarf[7] = regs->sp;
	dwarf[8] = regs->r8;
	dwarf[9] = regs->r9;
	dwarf[10] = regs->r10;
	dwarf[11] = regs->r11;
	dwarf[12] = regs->r12;
	dwarf[13] = regs->r13;
	dwarf[14] = regs->r14;
	dwarf[15] = regs->r15;
	dwarf[16] = regs->ip;
#pragma unroll
	for (int i = 17; i < RECORD_N_REGS; i++)
		dwarf[i] = 0;
}

static __always_inline record_u64 regs_argument(const struct pt_regs *regs, record_u32 n)
{
	switch (n) {
	case 0:
		return LOAD_REG(regs->di);
	case 1:
		return LOAD_REG(regs->si);
	case 2:
		return LOAD_REG(regs->dx);
	case 3:
		return LOAD_REG(regs->cx);
	case 4:
		return LOAD_REG(regs->r8);
	}
	return 0;
}

/* At a system call's exit its arguments are still in place, the fourth in r10. */
#define SYSCALL_ARG0(regs) ((regs)->di)
#define SYSCALL_ARG1(regs) ((regs)->si)
#define SYSCALL_ARG2(regs) ((regs)->dx)
#define SYSCALL_ARG3(regs) ((regs)->r10)
#define SYSCALL_ARG4(regs) ((regs)->r8)
#define SYSCALL_ARG5(regs) ((regs)->r9)

#elif defined(__TARGET_ARCH_arm64)

/* arch/arm64/include/asm/ptrace.h: user_pt_regs first, then orig_x0. */
struct pt_regs {
	unsigned long regs[31];
	unsigned long sp, pc, pstate;
	unsigned long orig_x0;
};

#define REGS_IP(r)     ((r)->pc)
#define REGS_SP(r)     ((r)->sp)
#define REGS_FP(r)     ((r)->regs[29])
#define REGS_RESULT(r) ((r)->regs[0])

/* The return address is in x30 on entry; nothing is popped. */
#define RETURN_SLOT_ON_STACK 0
#define RETURN_POPS          0

/* DWARF for the Arm 64-bit Architecture, section 4.1. */
static __always_inline void regs_to_dwarf(const struct pt_regs *regs, record_u64 *dwarf)
{
#pragma unroll
	for (int i = 0; i < 31; i++)
		dwarf[i] = regs->regs[i];
	dwarf[31] = regs->sp;
	dwarf[32] = regs->pc;
}

static __always_inline record_u64 regs_argument(const struct pt_regs *regs, record_u32 n)
{
	switch (n) {
	case 0:
		return LOAD_REG(regs->regs[0]);
	case 1:
		return LOAD_REG(regs->regs[1]);
	case 2:
		return LOAD_REG(regs->regs[2]);
	case 3:
		return LOAD_REG(regs->regs[3]);
	case 4:
		return LOAD_REG(regs->regs[4]);
	}
	return 0;
}

#define SYSCALL_ARG0(r) ((r)->orig_x0)
#define SYSCALL_ARG1(r) ((r)->regs[1])
#define SYSCALL_ARG2(r) ((r)->regs[2])
#define SYSCALL_ARG3(r) ((r)->regs[3])
#define SYSCALL_ARG4(r) ((r)->regs[4])
#define SYSCALL_ARG5(r) ((r)->regs[5])

#else
#error "compile with -D__TARGET_ARCH_x86 or -D__TARGET_ARCH_arm64"
#endif

#endif
