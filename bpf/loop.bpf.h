/* loop.bpf.h: loops whose end the verifier need not know.
 *
 * may_goto (Linux 6.9, commit 011832b97b31) leaves a loop when it has gone round too often to be trusted, so the verifier
 * looks at a round until it meets no new state instead of as often as it is run. Against bpf_loop it saves a call in
 * each round, 9 ns. The compiler does not know the instruction. Where the kernel does not either, bpf_loop serves, and
 * the plugin takes the instruction out before it loads the program (plugin/kernel/may_goto.c).
 */
#ifndef BPF_LOOP_BPF_H
#define BPF_LOOP_BPF_H

#include "maps.bpf.h"

/* struct bpf_insn {.code = BPF_JMP | BPF_JCOND, .off = to the label} */
#define MAY_LEAVE_TO(label)                                                                                \
	asm volatile goto("1: .byte 0xe5; .byte 0; .long ((%l[" #label "] - 1b - 8) / 8) & 0xffff; .short 0" : : : : label)

/* 0, but not to the verifier. */
static volatile u64 unknown_zero;

/* Makes the verifier forget what it knows about a variable that goes from round to round: rounds that it need not tell
 * apart are verified once. */
#define FORGET(variable, zero) asm volatile("%0 ^= %1" : "+r"(variable) : "r"(zero))

#endif
