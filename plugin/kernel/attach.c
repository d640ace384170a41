/* attach.c: multi links by bpf(2) directly (libbpf 1.1 has no call for them), perf events elsewhere. */
#include "kernel/attach.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"

/* bpf_attr.link_create for a uprobe_multi link, include/uapi/linux/bpf.h. */
struct link_create_uprobe_multi {
	uint32_t program;
	uint32_t target;
	uint32_t attach_type;
	uint32_t link_flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t reference_counters;
	uint64_t cookies;
	uint32_t n;
	uint32_t flags;
	uint32_t pid;
	uint32_t reserved;
};

#define UPROBE_MULTI_RETURN 1u

/* Names an open file by a path, whatever has become of the path it was opened by. */
static void descriptor_path(char *buffer, size_t size, int fd)
{
	snprintf(buffer, size, "/proc/self/fd/%d", fd);
}

static int link_create(struct link_create_uprobe_multi *attributes)
{
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, attributes, sizeof(*attributes));

	return fd < 0 ? -errno : fd;
}

/* Can a program of this attach type be linked to places of a file? */
static bool has_link_type(uint32_t type)
{
	/* r0 = 0; exit */
	struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = type);
	CLEANUP_CLOSE int program = bpf_prog_load(
		BPF_PROG_TYPE_KPROBE, NULL, "Dual MIT/GPL", instructions, N_ELEMENTS(instructions), &options);
	uint64_t offset = 0;
	struct link_create_uprobe_multi attributes = {
		.program = program,
		.attach_type = type,
		.path = (uintptr_t)"/", /* no regular file: EBADF from a kernel that got so far */
		.offsets = (uintptr_t)&offset,
		.n = 1,
	};

	return program >= 0 && link_create(&attributes) == -EBADF;
}

enum attach_mechanism attach_mechanism_probe(void)
{
	if (has_link_type(ATTACH_TYPE_UPROBE_SESSION))
		return ATTACH_SESSION;
	return has_link_type(ATTACH_TYPE_UPROBE_MULTI) ? ATTACH_MULTI : ATTACH_PERF;
}

int attach_uprobe_multi(int program, uint32_t type, int file, const uint64_t *offsets, const uint64_t *cookies,
	unsigned n, bool at_return)
{
	char path[64];
	struct link_create_uprobe_multi attributes = {
		.program = program,
		.attach_type = type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.n = n,
		.flags = at_return ? UPROBE_MULTI_RETURN : 0,
	};

	descriptor_path(path, sizeof(path), file);
	return link_create(&attributes);
}

/* A number from a one-line file of sysfs, behind a prefix. */
static int read_number(const char *path, const char *prefix)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[64] = "";
	size_t n = strlen(prefix);

	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) <= 0 || strncmp(text, prefix, n))
		return -EIO;
	return atoi(text + n);
}

int attach_uprobe_perf(int program, int file, uint64_t offset, uint64_t cookie, bool at_return)
{
	int type = read_number("/sys/bus/event_source/devices/uprobe/type", "");
	int bit = read_number("/sys/bus/event_source/devices/uprobe/format/retprobe", "config:");
	CLEANUP_CLOSE int event = -1;
	char path[64];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.uprobe_path = (uintptr_t)path,
		.probe_offset = offset,
	};
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = cookie);

	if (type < 0 || bit < 0)
		return type < 0 ? type : bit;
	descriptor_path(path, sizeof(path), file);
	attr.type = type;
	if (at_return)
		attr.config |= 1ull << bit;
	event = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	return bpf_link_create(program, event, BPF_PERF_EVENT, &options); /* the link keeps the event */
}
