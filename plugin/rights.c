/* rights.c: effective capabilities (capabilities(7)). */
#include "rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"

/* Since Linux 5.8; older headers lack them. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static const struct {
	unsigned number;
	const char *name;
} needed[] = {
	{CAP_BPF, "cap_bpf"},                   /* loading programs */
	{CAP_PERFMON, "cap_perfmon"},           /* probes, and kernel reads in programs */
	{CAP_SYS_ADMIN, "cap_sys_admin"},       /* the seccomp filter; tracepoints; /proc/<pid>/map_files */
	{CAP_SYS_PTRACE, "cap_sys_ptrace"},     /* descriptors and mappings of the benchmark */
};

static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	if (syscall(SYS_capget, &header, data))
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

static void append(char *text, size_t size, const char *word)
{
	size_t n = strlen(text);

	snprintf(text + n, size - n, "%s%s", n ? "," : "", word);
}

int rights_check(const struct log_sink *log)
{
	uint64_t effective = effective_capabilities();
	char missing[256] = "", all[256] = "", program[512];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[n > 0 ? n : 0] = '\0';
	for (unsigned i = 0; i < N_ELEMENTS(needed); i++) {
		append(all, sizeof(all), needed[i].name);
		if (!(effective >> needed[i].number & 1))
			append(missing, sizeof(missing), needed[i].name);
	}
	if (!missing[0])
		return 0;
	log_error(log, "recording needs rights that this process does not have: %s; run the runner as root (sudo), or "
		       "grant them once with: sudo setcap %s+ep %s", missing, all, n > 0 ? program : "RUNNER");
	return -EPERM;
}
