/* machine_bpf.c: eBPF on the machine, asked of the kernel itself. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/machine.h"
#include "support/memory.h"

/* Links are told from programs by this bit of the id. */
#define LINK_BIT 0x80000000u

static bool next_id(int command, uint32_t *id)
{
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.start_id = *id;
	if (syscall(SYS_bpf, command, &attributes, sizeof(attributes)) != 0)
		return false;
	*id = attributes.next_id;
	return true;
}

static void take_all(struct machine_bpf *bpf, int command, uint32_t bit)
{
	for (uint32_t id = 0; next_id(command, &id);) {
		bpf->ids = test_grow(bpf->ids, bpf->n_ids, sizeof(*bpf->ids));
		bpf->ids[bpf->n_ids++] = id | bit;
	}
}

void machine_bpf_take(struct machine_bpf *ret_bpf)
{
	struct machine_bpf bpf = {0};

	take_all(&bpf, BPF_PROG_GET_NEXT_ID, 0);
	take_all(&bpf, BPF_LINK_GET_NEXT_ID, LINK_BIT);
	*ret_bpf = bpf;
}

void machine_bpf_deinit(struct machine_bpf *bpf)
{
	free(bpf->ids);
	*bpf = (struct machine_bpf){0};
}

static size_t count_new(const struct machine_bpf *before)
{
	struct machine_bpf now;
	size_t n_new = 0;

	machine_bpf_take(&now);
	for (size_t i = 0; i < now.n_ids; i++) {
		bool known = false;

		for (size_t j = 0; j < before->n_ids && !known; j++)
			known = before->ids[j] == now.ids[i];
		n_new += !known;
	}
	machine_bpf_deinit(&now);
	return n_new;
}

size_t machine_bpf_left(const struct machine_bpf *before, unsigned seconds)
{
	size_t n = count_new(before);

	for (unsigned i = 0; n > 0 && i < seconds * 20; i++) {
		usleep(50000);
		n = count_new(before);
	}
	return n;
}

const char *machine_why_no_capture(void)
{
	uint32_t id = 0;

	if (geteuid() != 0)
		return "not root";
	if (!next_id(BPF_PROG_GET_NEXT_ID, &id) && errno != ENOENT)
		return "bpf(2) is refused";
	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		return "the kernel has no BTF";
	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK) != 0)
		return "the kernel has no uprobes";
	return NULL;
}
