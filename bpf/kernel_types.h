/* kernel_types.h: the kernel structures the programs read, only the fields they use.
 *
 * CO-RE relocates every access by name against the running kernel's BTF, so order, size and neighbours of the
 * fields do not matter here. Anonymous wrappers (mm_struct's inner struct, file's unions) are transparent.
 */
#ifndef BPF_KERNEL_TYPES_H
#define BPF_KERNEL_TYPES_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct super_block {
	unsigned int s_dev;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

/* kernel/events/uprobes.c; the return trampoline is at its start. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

/* kernel/events/uprobes.c, include/linux/uprobes.h: the returns that a task has ahead, innermost first. */
struct return_instance {
	unsigned long stack;          /* where the return address was */
	unsigned long orig_ret_vaddr; /* what it was */
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct mm_struct {
	unsigned long start_brk;
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
};

struct thread_struct {
	unsigned long fsbase; /* x86-64 */
};

struct task_struct {
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct files_struct *files;
	struct pid *thread_pid;
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	struct uprobe_task *utask;
	struct thread_struct thread;
	char comm[16];
};

#pragma clang attribute pop

#endif
