/* mapping.bpf.h: memory mappings as system calls change them. All handlers run at the exit of the call. */
#ifndef BPF_MAPPING_BPF_H
#define BPF_MAPPING_BPF_H

#include "image.bpf.h"

/* include/uapi/asm-generic/mman-common.h, linux/mman.h */
#define PROT_EXEC     0x4
#define MAP_ANONYMOUS 0x20

#define PAGE_ROUND(n) (((n) + 4095ull) & ~4095ull)

/* Results from -4095 to -1 are errors. */
#define IS_ERROR(result) ((u64)(result) > -4096ull)

/* format of the sys_exit_… tracepoints */
struct syscall_exit {
	u64 common;
	long id;
	long result;
};

/* Which thread a system call's exit belongs to, if it is tracked. */
struct caller {
	struct thread *thread;
	struct process *process;
	struct pt_regs *regs;
	u64 now;
};

static __always_inline int caller_find(struct caller *caller)
{
	caller->thread = current_thread();
	if (!caller->thread)
		return 0;
	caller->process = process_of(caller->thread);
	if (!caller->process)
		return 0;
	caller->regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	caller->now = bpf_ktime_get_ns();
	return 1;
}

static __always_inline void emit_map(struct caller *caller, u32 kind, u64 addr, u64 size)
{
	struct record_map *record = ring_reserve(struct record_map);

	if (!record)
		return;
	fill_head(&record->head, kind, caller->process->pid, caller->thread->tid, caller->now);
	record->addr = addr;
	record->size = size;
	ring_submit(record);
}

struct mapped_file {
	u64 dev, ino;
};

static __always_inline int file_identity(struct file *file, struct mapped_file *ret_file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	if (!inode)
		return -1;
	ret_file->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	ret_file->ino = BPF_CORE_READ(inode, i_ino);
	return 0;
}

/* The open file behind a descriptor of the current task. The descriptor is what the system call was given: looking
 * the mapping up instead can fail while other threads change the address space. */
static __always_inline int descriptor_identity(u32 fd, struct mapped_file *ret_file)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return -1;
	if (bpf_probe_read_kernel(&file, sizeof(file), files + fd) || !file)
		return -1;
	return file_identity(file, ret_file);
}

static __always_inline void emit_mapping(struct record_head *head, u64 addr, u64 len, u64 file_offset,
	const struct mapped_file *file)
{
	struct record_mapping *record = ring_reserve(struct record_mapping);

	if (!record)
		return;
	record->head = *head;
	record->addr = addr;
	record->len = len;
	record->file_offset = file_offset;
	record->dev = file->dev;
	record->ino = file->ino;
	ring_submit(record);
}

/* The number of a file's rules, 0 where there are none. */
static __always_inline u32 module_of(const struct mapped_file *file)
{
	struct file_key key = {file->dev, file->ino};
	u32 *module = bpf_map_lookup_elem(&modules, &key);

	return module ? *module : 0;
}

static __always_inline void map_file(struct caller *caller, u64 addr, u64 len, u64 file_offset,
	const struct mapped_file *file)
{
	struct record_head head;

	fill_head(&head, RECORD_MAPPING, caller->process->pid, caller->thread->tid, caller->now);
	emit_mapping(&head, addr, len, file_offset, file);
	image_change(caller->thread->process, addr, addr + len, RANGE_OF(module_of(file)), file_offset);
}

static __always_inline void unmap(struct caller *caller, u64 addr, u64 len)
{
	if (image_overlaps(caller->process->image, addr, addr + len))
		image_change(caller->thread->process, addr, addr + len, TAG_REMOVE, 0);
}

static __always_inline int on_mmap(struct syscall_exit *exit)
{
	struct caller caller;
	struct mapped_file file;
	u64 addr = exit->result, len, asked;

	if (IS_ERROR(addr) || !caller_find(&caller))
		return 0;
	asked = SYSCALL_ARG1(caller.regs);
	len = PAGE_ROUND(asked);
	emit_map(&caller, RECORD_MMAP, addr, asked);
	if (!(SYSCALL_ARG2(caller.regs) & PROT_EXEC)) {
		unmap(&caller, addr, len);
	} else if (SYSCALL_ARG3(caller.regs) & MAP_ANONYMOUS) {
		image_change(caller.thread->process, addr, addr + len, RANGE_ANONYMOUS, 0);
	} else if (descriptor_identity(SYSCALL_ARG4(caller.regs), &file) == 0) {
		map_file(&caller, addr, len, SYSCALL_ARG5(caller.regs), &file);
	} else {
		count_lost(LOST_MAPPINGS);
		image_change(caller.thread->process, addr, addr + len, RANGE_ANONYMOUS, 0);
	}
	return 0;
}

static __always_inline int on_munmap(struct syscall_exit *exit)
{
	struct caller caller;
	u64 addr, len;

	if (exit->result || !caller_find(&caller))
		return 0;
	addr = SYSCALL_ARG0(caller.regs);
	len = SYSCALL_ARG1(caller.regs);
	emit_map(&caller, RECORD_MUNMAP, addr, len);
	unmap(&caller, addr, PAGE_ROUND(len));
	return 0;
}

/* A moved mapping is one that ended and one that began. Moved code keeps no file: nobody does that. */
static __always_inline int on_mremap(struct syscall_exit *exit)
{
	struct caller caller;
	u64 addr = exit->result, old_addr, old_len, new_len;
	int tag;

	if (IS_ERROR(addr) || !caller_find(&caller))
		return 0;
	old_addr = SYSCALL_ARG0(caller.regs);
	old_len = SYSCALL_ARG1(caller.regs);
	new_len = SYSCALL_ARG2(caller.regs);
	emit_map(&caller, RECORD_MUNMAP, old_addr, old_len);
	emit_map(&caller, RECORD_MMAP, addr, new_len);
	tag = image_tag(caller.process->image, old_addr);
	unmap(&caller, old_addr, PAGE_ROUND(old_len));
	if (tag != TAG_NOT_CODE)
		image_change(caller.thread->process, addr, addr + PAGE_ROUND(new_len), RANGE_ANONYMOUS, 0);
	else
		unmap(&caller, addr, PAGE_ROUND(new_len));
	return 0;
}

struct vma_file {
	struct mapped_file file;
	u64 start, file_offset;
	int found;
};

static long vma_file_read(struct task_struct *task, struct vm_area_struct *vma, struct vma_file *result)
{
	struct file *file = vma->vm_file;

	if (file && file_identity(file, &result->file) == 0) {
		result->start = vma->vm_start;
		result->file_offset = vma->vm_pgoff * 4096;
		result->found = 1;
	}
	return 0;
}

/* Memory that becomes executable afterwards: nearly always a JIT's. */
static __always_inline int on_mprotect(struct syscall_exit *exit)
{
	struct caller caller;
	struct vma_file vma = {};
	u64 addr, len;

	if (exit->result || !caller_find(&caller) || !(SYSCALL_ARG2(caller.regs) & PROT_EXEC))
		return 0;
	addr = SYSCALL_ARG0(caller.regs);
	len = PAGE_ROUND(SYSCALL_ARG1(caller.regs));
	if (!len || image_holds(caller.process->image, addr, addr + len, RANGE_ANONYMOUS) ||
		image_holds(caller.process->image, addr, addr + len, RANGE_FILE))
		return 0;
	bpf_find_vma(bpf_get_current_task_btf(), addr, vma_file_read, &vma, 0);
	if (vma.found)
		map_file(&caller, addr, len, vma.file_offset + (addr - vma.start), &vma.file);
	else
		image_change(caller.thread->process, addr, addr + len, RANGE_ANONYMOUS, 0);
	return 0;
}

/* The new break, and the size of the heap below it. brk(0) only asks, and is a call like any other; a call that
 * could not move the break returns the old one. */
static __always_inline int on_brk(struct syscall_exit *exit)
{
	struct caller caller;
	u64 asked, start;

	if (!caller_find(&caller))
		return 0;
	asked = SYSCALL_ARG0(caller.regs);
	if (asked && asked != (u64)exit->result)
		return 0;
	start = bpf_get_current_task_btf()->mm->start_brk;
	emit_map(&caller, RECORD_BRK, exit->result, exit->result - start);
	return 0;
}

#endif
