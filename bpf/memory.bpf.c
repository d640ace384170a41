/* memory.bpf.c: the programs, each a line or two over the helpers in the headers. */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <bpf/bpf_helpers.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#include "kernel_types.h"
#include "record.h"
#include "arch.h"

#include <bpf/bpf_core_read.h>

#include "allocation.bpf.h"
#include "mapping.bpf.h"
#include "process.bpf.h"

const char license_text[] SEC("license") = "Dual MIT/GPL";

/* Since Linux 6.13 (commit d920179b3d4842a): one program for both ends of a call. */
extern bool bpf_session_is_return(void) __ksym __weak;

/* Where the kernel has sessions: a call whose entry is of no interest is not even caught at its return, so that
 * processes which are not tracked pay for one trap only. */
SEC("uprobe")
int allocation_called(struct pt_regs *regs)
{
	struct thread *thread = thread_at_probe(regs);
	u64 ip = REGS_IP(regs), cookie;
	struct site *site;

	SHARES_NO_STACK(regs, no_sessions);
	if (!thread)
		return 1;
	site = site_find(thread, ip);
	if (site)
		cookie = site->cookie;
	else
		cookie = site_keep(thread, ip, bpf_session_is_return() ? SITE_RETURN : bpf_get_attach_cookie(regs));
	return cookie == SITE_RETURN ? allocation_return(regs, thread) : allocation_entry(regs, thread, cookie);
}

static __always_inline u64 cookie_here(struct pt_regs *regs, struct thread *thread)
{
	struct site *site = site_find(thread, REGS_IP(regs));

	return site ? site->cookie : site_keep(thread, REGS_IP(regs), bpf_get_attach_cookie(regs));
}

SEC("uprobe")
int allocation_entered(struct pt_regs *regs)
{
	struct thread *thread = thread_at_probe(regs);

	SHARES_NO_STACK(regs, no_programs);
	if (thread)
		allocation_entry(regs, thread, cookie_here(regs, thread));
	return 0;
}

SEC("uretprobe")
int allocation_returned(struct pt_regs *regs)
{
	struct thread *thread = thread_at_probe(regs);

	SHARES_NO_STACK(regs, no_programs);
	return thread ? allocation_return(regs, thread) : 0;
}

SEC("uprobe")
int free_entered(struct pt_regs *regs)
{
	struct thread *thread = thread_at_probe(regs);

	SHARES_NO_STACK(regs, no_programs);
	return thread ? free_entry(regs, thread, cookie_here(regs, thread)) : 0;
}

SEC("uprobe")
int free_called_inside(struct pt_regs *regs)
{
	struct thread *thread = thread_at_probe(regs);

	/* The cookie says how far the instruction moves SP: a call does, a jump does not. */
	if (thread)
		thread->free_inside = REGS_SP(regs) - bpf_get_attach_cookie(regs);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int task_forked(u64 *arguments)
{
	return on_fork((struct task_struct *)arguments[0], (struct task_struct *)arguments[1]);
}

SEC("tp_btf/sched_process_exec")
int task_executed(u64 *arguments)
{
	return on_exec((struct task_struct *)arguments[0]);
}

SEC("tp_btf/sched_process_exit")
int task_exited(u64 *arguments)
{
	return on_exit((struct task_struct *)arguments[0]);
}

SEC("tracepoint/syscalls/sys_exit_mmap")
int mmap_returned(struct syscall_exit *exit)
{
	return on_mmap(exit);
}

SEC("tracepoint/syscalls/sys_exit_munmap")
int munmap_returned(struct syscall_exit *exit)
{
	return on_munmap(exit);
}

SEC("tracepoint/syscalls/sys_exit_mremap")
int mremap_returned(struct syscall_exit *exit)
{
	return on_mremap(exit);
}

SEC("tracepoint/syscalls/sys_exit_mprotect")
int mprotect_returned(struct syscall_exit *exit)
{
	return on_mprotect(exit);
}

SEC("tracepoint/syscalls/sys_exit_pkey_mprotect")
int pkey_mprotect_returned(struct syscall_exit *exit)
{
	return on_mprotect(exit);
}

SEC("tracepoint/syscalls/sys_exit_brk")
int brk_returned(struct syscall_exit *exit)
{
	return on_brk(exit);
}

/* Run by the plugin: remembers how deep its PID namespace is, and which one it is. */
SEC("syscall")
int identify_runner(void *unused)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pid *pid = task->thread_pid;
	u64 at;

	runner_level = BPF_CORE_READ(pid, level);
	at = (u64)pid + bpf_core_field_offset(struct pid, numbers) + runner_level * bpf_core_type_size(struct upid);
	bpf_core_read(&runner_namespace, sizeof(runner_namespace), &((struct upid *)at)->ns);
	return 0;
}

/* Run by the plugin: sends the calls that are kept in rooms. */
SEC("syscall")
int flush_calls(struct flush_request *request)
{
	u32 n_left = 0, n_processes = 0;

	bpf_loop(MAX_ROOMS, room_flush, &n_left, 0);
	bpf_loop(MAX_PROCESSES, process_count, &n_processes, 0);
	request->n_left = n_left;
	request->n_processes = n_processes;
	return 0;
}

/* Run by the plugin: how the kernel names a file that the plugin has open. */
SEC("syscall")
int identify_file(struct file_request *request)
{
	struct mapped_file file;

	request->found = 0;
	if (descriptor_identity(request->fd, &file))
		return 0;
	request->dev = file.dev;
	request->ino = file.ino;
	request->found = 1;
	return 0;
}

/* Run by the plugin, while the process is held: an executable mapping that execve made itself. */
SEC("syscall")
int add_mapping(struct mapping_request *request)
{
	struct mapped_file file = {.dev = request->dev, .ino = request->ino};
	u64 addr = request->addr, len = request->len;
	u32 slot = request->slot;
	struct process *process = bpf_map_lookup_elem(&processes, &slot);
	struct record_head head;

	if (!process || process->pid != request->pid)
		return 0;
	fill_head(&head, RECORD_MAPPING, request->pid, request->pid, request->timestamp);
	emit_mapping(&head, addr, len, request->file_offset, &file);
	image_change(slot, addr, addr + len, RANGE_OF(module_of(&file)), request->file_offset);
	return 0;
}
