/* floor.c: attaching programs that do nothing. */
#include "bench/floor.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <string.h>

#include "kernel/attach.h"
#include "probe/functions.h"
#include "util/cleanup.h"

static int load(uint32_t type)
{
	/* r0 = 0; exit */
	const struct bpf_insn nothing[] = {
	        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0}, {.code = BPF_JMP | BPF_EXIT}};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = type);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "floor", "GPL", nothing, N_ELEMENTS(nothing), &options);

	return fd < 0 ? -errno : fd;
}

static int find(const char *path, const char *symbol, uint64_t *ret_offset)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct found_functions found;
	int result = fd < 0 ? -errno : found_functions_read(fd, &found);

	if (result < 0)
		return result;
	result = -ENOENT;
	for (size_t i = 0; i < found.n_functions; i++) {
		if (strcmp(found.functions[i].function->symbol, symbol) != 0)
			continue;
		*ret_offset = found.functions[i].file_offset;
		result = 0;
	}
	found_functions_deinit(&found);
	return result;
}

/* Attaches one program; `type` 0 is a perf event. */
static int attach(uint32_t type, int file, uint64_t offset, bool at_return)
{
	CLEANUP_CLOSE int program = load(type);
	uint64_t cookie = 0;

	if (program < 0)
		return program;
	if (type == 0)
		return attach_uprobe_perf(program, file, offset, cookie, at_return);
	return attach_uprobe_multi(program, type, file, &offset, &cookie, 1, at_return);
}

int floor_attach(const char *path, int ret_links[static 4])
{
	enum attach_mechanism mechanism = attach_mechanism_probe();
	uint32_t type = mechanism == ATTACH_PERF ? 0 : ATTACH_TYPE_UPROBE_MULTI;
	CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t malloc_offset, free_offset;
	int n = 0, result = file < 0 ? -errno : find(path, "malloc", &malloc_offset);

	if (result == 0)
		result = find(path, "free", &free_offset);
	if (result < 0)
		return result;
	ret_links[n++] = attach(type, file, free_offset, false);
	if (mechanism == ATTACH_SESSION) {
		ret_links[n++] = attach(ATTACH_TYPE_UPROBE_SESSION, file, malloc_offset, false);
	} else {
		ret_links[n++] = attach(type, file, malloc_offset, false);
		ret_links[n++] = attach(type, file, malloc_offset, true);
	}
	for (int i = 0; i < n; i++)
		if (ret_links[i] < 0)
			result = ret_links[i];
	for (int i = 0; result < 0 && i < n; i++)
		cleanup_close(&ret_links[i]);
	return result < 0 ? result : n;
}
