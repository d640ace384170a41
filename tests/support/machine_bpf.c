/* machine_bpf.c: eBPF on the machine, asked of the kernel itself. */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/machine.h"
#include "support/memory.h"
#include "util/cleanup.h"

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

static bool contains(const struct machine_bpf *bpf, uint32_t id)
{
	for (size_t i = 0; i < bpf->n_ids; i++)
		if (bpf->ids[i] == id)
			return true;
	return false;
}

static void take_descriptor(struct machine_bpf *bpf, const char *path)
{
	CLEANUP_FCLOSE FILE *information = fopen(path, "re");
	char line[256];
	uint32_t id;

	while (information && fgets(line, sizeof(line), information)) {
		uint32_t bit = LINK_BIT;

		if (sscanf(line, "link_id: %" SCNu32, &id) != 1) {
			if (sscanf(line, "prog_id: %" SCNu32, &id) != 1)
				continue;
			bit = 0;
		}
		bpf->ids = test_grow(bpf->ids, bpf->n_ids, sizeof(*bpf->ids));
		bpf->ids[bpf->n_ids++] = id | bit;
	}
}

/* What the descriptors of other processes than this one and its descendants hold. */
static void take_held(struct machine_bpf *ret_bpf)
{
	struct machine_bpf bpf = {0};
	glob_t found;

	if (glob("/proc/[0-9]*/fdinfo/*", GLOB_NOSORT, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (!machine_is_descendant(strtol(found.gl_pathv[i] + strlen("/proc/"), NULL, 10)))
				take_descriptor(&bpf, found.gl_pathv[i]);
		globfree(&found);
	}
	*ret_bpf = bpf;
}

/* Of the ids that have one of the bits in `kinds`. */
static size_t count_new(const struct machine_bpf *before, uint32_t kinds)
{
	struct machine_bpf now, held = {0};
	size_t n_new = 0;

	machine_bpf_take(&now);
	for (size_t i = 0; i < now.n_ids; i++)
		n_new += (now.ids[i] & kinds) && !contains(before, now.ids[i]);
	if (n_new > 0) {
		take_held(&held);
		n_new = 0;
		for (size_t i = 0; i < now.n_ids; i++)
			n_new += (now.ids[i] & kinds) && !contains(before, now.ids[i]) &&
			         !contains(&held, now.ids[i]);
	}
	machine_bpf_deinit(&now);
	machine_bpf_deinit(&held);
	return n_new;
}

bool machine_others_probe(void)
{
	struct machine_bpf held;
	bool probe = false;

	take_held(&held);
	for (size_t i = 0; i < held.n_ids; i++)
		probe = probe || (held.ids[i] & LINK_BIT);
	machine_bpf_deinit(&held);
	return probe;
}

size_t machine_bpf_left(const struct machine_bpf *before, unsigned seconds)
{
	size_t n = count_new(before, UINT32_MAX);

	for (unsigned i = 0; n > 0 && i < seconds * 20; i++) {
		usleep(50000);
		n = count_new(before, UINT32_MAX);
	}
	return n;
}

size_t machine_links_left(const struct machine_bpf *before)
{
	return count_new(before, LINK_BIT);
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
