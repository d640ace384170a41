/* inferior.c: calling functions of another program under ptrace (x86-64). */
#include "support/inferior.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/memory.h"
#include "util/cleanup.h"

/* The return address of the calls: nothing can be mapped there, so arriving is a fault that names itself. */
#define RETURN_ADDRESS 0x10

/* Waits for the next stop. The signal, or -EPROTO when the program is gone. */
static int wait_stop(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -EPROTO;
	return WSTOPSIG(status);
}

static void run_idle(const char *path, const char *preload)
{
	const char *argv[] = {path, NULL};

	if (preload)
		setenv("LD_PRELOAD", preload, 1);
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
		execv(path, (char *const *)argv);
	_exit(127);
}

int inferior_init(const char *path, const char *preload, struct inferior *ret_inferior)
{
	struct inferior inferior = {.pid = fork()};
	struct user_regs_struct regs;
	int signal_number;

	if (inferior.pid < 0)
		return -errno;
	if (inferior.pid == 0)
		run_idle(path, preload);
	do {
		signal_number = wait_stop(inferior.pid);
		if (signal_number < 0)
			return signal_number;
		/* The first stop is the exec's; idle's own is a SIGSTOP. */
		if (signal_number != SIGSTOP)
			ptrace(PTRACE_CONT, inferior.pid, 0, signal_number == SIGTRAP ? 0 : signal_number);
	} while (signal_number != SIGSTOP);
	if (ptrace(PTRACE_GETREGS, inferior.pid, 0, &regs) != 0) {
		inferior_deinit(&inferior);
		return -EPROTO;
	}
	/* In the array of its main function, which nobody reads. */
	inferior.scratch = (regs.rsp + 256 * 1024) & ~(uint64_t)4095;
	*ret_inferior = inferior;
	return 0;
}

void inferior_deinit(struct inferior *inferior)
{
	if (inferior->pid > 0) {
		kill(inferior->pid, SIGKILL);
		waitpid(inferior->pid, NULL, 0);
	}
	inferior->pid = 0;
}

/* The first PT_LOAD's page in the file's own addresses. */
static int first_page(const char *path, uint64_t *ret_page)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header;
	Elf64_Phdr program;

	if (fd < 0)
		return -errno;
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return -EBADMSG;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		if (pread(fd, &program, sizeof(program), header.e_phoff + i * sizeof(program)) !=
		        sizeof(program))
			return -EBADMSG;
		if (program.p_type != PT_LOAD)
			continue;
		*ret_page = program.p_vaddr & ~(uint64_t)4095;
		return 0;
	}
	return -EBADMSG;
}

int inferior_bias(const struct inferior *inferior, const char *path, uint64_t *ret_bias)
{
	CLEANUP_FREE char *maps_path = test_text("/proc/%d/maps", inferior->pid);
	CLEANUP_FCLOSE FILE *maps = fopen(maps_path, "re");
	uint64_t start, offset, inode, page = 0;
	unsigned major_number, minor_number;
	struct stat status;
	char line[4352];
	int result = first_page(path, &page);

	if (result < 0)
		return result;
	if (!maps || stat(path, &status) != 0)
		return -errno;
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %x:%x %" SCNu64, &start, &offset,
		            &major_number, &minor_number, &inode) != 5)
			continue;
		if (offset != 0 || inode != status.st_ino ||
		        makedev(major_number, minor_number) != status.st_dev)
			continue;
		*ret_bias = start - page;
		return 0;
	}
	return -ENOENT;
}

uint64_t inferior_read(const struct inferior *inferior, uint64_t address)
{
	return ptrace(PTRACE_PEEKDATA, inferior->pid, address, 0);
}

static void look(const struct user_regs_struct *entry, const struct user_regs_struct *now, unsigned n_steps,
        struct inferior_call *call)
{
	call->n_arrivals++;
	if (call->n_arrivals > 1)
		return;
	call->n_steps_before = n_steps;
	call->stack_untouched = now->rsp == entry->rsp;
	call->saved_untouched = now->rbx == entry->rbx && now->rbp == entry->rbp && now->r12 == entry->r12 &&
	                        now->r13 == entry->r13 && now->r14 == entry->r14 && now->r15 == entry->r15;
	call->argument_untouched[0] = now->rdi == entry->rdi;
	call->argument_untouched[1] = now->rsi == entry->rsi;
	call->argument_untouched[2] = now->rdx == entry->rdx;
	call->argument_untouched[3] = now->rcx == entry->rcx;
	call->argument_untouched[4] = now->r8 == entry->r8;
}

/* What a stop means: an arrival at the site, in this activation or as the first one whatever its stack
 * pointer is (that is one of the questions). Activations further in, by recursion, have a lower stack
 * pointer. */
static void note_arrival(const struct user_regs_struct *entry, const struct user_regs_struct *now,
        uint64_t site, unsigned n_steps, struct inferior_call *call)
{
	if (now->rip == site && (call->n_arrivals == 0 || now->rsp == entry->rsp))
		look(entry, now, n_steps, call);
}

/* Execution breakpoint 0 of the processor at `address`, or off. */
static bool set_breakpoint(pid_t pid, uint64_t address)
{
	return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), 0) == 0 &&
	       ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), address) == 0 &&
	       ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), address ? 1 : 0) == 0;
}

/* Runs to the return address, stopping at the site only. */
static int run_to_end(pid_t pid, const struct user_regs_struct *entry, uint64_t site,
        struct inferior_call *call, struct user_regs_struct *now)
{
	int signal_number;

	if (!set_breakpoint(pid, site))
		return -ENOTSUP;
	do {
		ptrace(PTRACE_CONT, pid, 0, 0);
		signal_number = wait_stop(pid);
		if (signal_number < 0 || ptrace(PTRACE_GETREGS, pid, 0, now) != 0)
			return -EPROTO;
		if (signal_number == SIGTRAP)
			note_arrival(entry, now, site, INFERIOR_MAX_STEPS, call);
	} while (signal_number == SIGTRAP);
	set_breakpoint(pid, 0);
	return signal_number == SIGSEGV ? 0 : -EPROTO;
}

static int step(pid_t pid, const struct user_regs_struct *entry, uint64_t site, struct inferior_call *call,
        struct user_regs_struct *ret_regs)
{
	struct user_regs_struct now = *entry;
	int result = 0;

	for (unsigned n = 0; n < INFERIOR_MAX_STEPS && now.rip != RETURN_ADDRESS; n++) {
		note_arrival(entry, &now, site, n, call);
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) != 0 || wait_stop(pid) != SIGTRAP ||
		        ptrace(PTRACE_GETREGS, pid, 0, &now) != 0)
			return -EPROTO;
	}
	if (now.rip != RETURN_ADDRESS)
		result = run_to_end(pid, entry, site, call, &now);
	*ret_regs = now;
	return result;
}

int inferior_call(struct inferior *inferior, uint64_t function, uint64_t site, const uint64_t arguments[5],
        struct inferior_call *ret_call)
{
	struct user_regs_struct saved, entry, end;
	struct inferior_call call = {0};
	int result;

	if (ptrace(PTRACE_GETREGS, inferior->pid, 0, &saved) != 0)
		return -EPROTO;
	entry = saved;
	/* Below the red zone; a call leaves the stack 8 bytes off a multiple of 16. */
	entry.rsp = ((saved.rsp - 1024) & ~(uint64_t)15) - 8;
	entry.rip = function;
	entry.rdi = arguments[0];
	entry.rsi = arguments[1];
	entry.rdx = arguments[2];
	entry.rcx = arguments[3];
	entry.r8 = arguments[4];
	entry.rax = 0;
	entry.orig_rax = -1; /* no system call is to be restarted */
	entry.eflags &= ~(uint64_t)0x400;
	/* Values that a function which touches a saved register does not happen to put there. */
	entry.rbx = 0x1111111111111111;
	entry.rbp = 0x2222222222222222;
	entry.r12 = 0x3333333333333333;
	entry.r13 = 0x4444444444444444;
	entry.r14 = 0x5555555555555555;
	entry.r15 = 0x6666666666666666;
	if (ptrace(PTRACE_POKEDATA, inferior->pid, entry.rsp, RETURN_ADDRESS) != 0 ||
	        ptrace(PTRACE_SETREGS, inferior->pid, 0, &entry) != 0)
		return -EPROTO;
	result = step(inferior->pid, &entry, site, &call, &end);
	if (result < 0)
		return result;
	call.result = end.rax;
	call.returned = end.rip == RETURN_ADDRESS && end.rsp == entry.rsp + 8;
	if (ptrace(PTRACE_SETREGS, inferior->pid, 0, &saved) != 0)
		return -EPROTO;
	*ret_call = call;
	return 0;
}
