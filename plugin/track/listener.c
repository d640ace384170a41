/* listener.c: filter and answers. */
#include "track/listener.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"

/* Since Linux 5.19 (commit c2aa2dfef243): a call that was taken waits through signals that do not kill. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define FIELD(name)    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define ARGUMENT(n)    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
#define EQUAL(k, t, f) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, t, f)
#define ANY(k, t, f)   BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, k, t, f)
#define ALLOW          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define NOTIFY         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)

#if defined(__x86_64__)

#define ARCH_SET_FS          0x1002 /* asm/prctl.h */
#define I386_SET_THREAD_AREA 243    /* how a 32-bit program sets its thread pointer */

/* Reads the arguments only for the two calls of interest, so that the kernel answers all others from its cache. */
static const struct sock_filter filter[] = {
	/*  0 */ FIELD(arch),
	/*  1 */ EQUAL(AUDIT_ARCH_X86_64, 4, 0),
	/*  2 */ EQUAL(AUDIT_ARCH_I386, 0, 2),
	/*  3 */ FIELD(nr),
	/*  4 */ EQUAL(I386_SET_THREAD_AREA, 9, 0),
	/*  5 */ ALLOW,
	/*  6 */ FIELD(nr),
	/*  7 */ EQUAL(SYS_mmap, 2, 0),
	/*  8 */ EQUAL(SYS_arch_prctl, 6, 0),
	/*  9 */ ALLOW,
	/* 10 */ ARGUMENT(2),
	/* 11 */ ANY(PROT_EXEC, 0, 3 + 2),
	/* 12 */ ARGUMENT(3),
	/* 13 */ ANY(MAP_ANONYMOUS, 3, 0),
	/* 14 */ NOTIFY,
	/* 15 */ ARGUMENT(0),
	/* 16 */ EQUAL(ARCH_SET_FS, 1, 0),
	/* 17 */ ALLOW,
	/* 18 */ NOTIFY,
};

#elif defined(__aarch64__)

static const struct sock_filter filter[] = {
	/*  0 */ FIELD(arch),
	/*  1 */ EQUAL(AUDIT_ARCH_AARCH64, 0, 7),
	/*  2 */ FIELD(nr),
	/*  3 */ EQUAL(SYS_set_tid_address, 6, 0),
	/*  4 */ EQUAL(SYS_mmap, 0, 4),
	/*  5 */ ARGUMENT(2),
	/*  6 */ ANY(PROT_EXEC, 0, 2),
	/*  7 */ ARGUMENT(3),
	/*  8 */ ANY(MAP_ANONYMOUS, 0, 1),
	/*  9 */ ALLOW,
	/* 10 */ NOTIFY,
};

#endif

int listener_install(void)
{
	struct sock_fprog program = {.len = N_ELEMENTS(filter), .filter = (struct sock_filter *)filter};
	int fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);

	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	return fd < 0 ? -errno : fd;
}

int listener_receive(int listener, struct seccomp_notif *notification)
{
	memset(notification, 0, sizeof(*notification));
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, notification) ? -errno : 0;
}

int listener_continue(int listener, uint64_t id)
{
	struct seccomp_notif_resp response = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) ? -errno : 0;
}

int listener_is_valid(int listener, uint64_t id)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) ? -errno : 0;
}
