/* programs.c: life of the eBPF object. */
#include "kernel/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernel/attach.h"
#include "kernel/may_goto.h"
#include "kernel/tracepoint.h"
#include "memory.skel.h"
#include "util/cleanup.h"

struct programs {
	struct memory_bpf *object;
	void *elf; /* what the object was opened from, or NULL */
	const struct log_sink *log;
	enum attach_mechanism mechanism;
	uint32_t n_modules;
	uint64_t rules_bytes;
	struct descriptors links;
	struct descriptors events; /* of the tracepoints that have links */
};

/* libbpf prints through one global callback. While the object loads, the verifier's last words are kept. */
static __thread const struct log_sink *libbpf_log;

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char text[512];

	if (level == LIBBPF_DEBUG || !libbpf_log)
		return 0;
	vsnprintf(text, sizeof(text), format, arguments);
	text[strcspn(text, "\n")] = '\0';
	log_debug(libbpf_log, "%s", text);
	return 0;
}

static int explain_load(const struct log_sink *log, int r)
{
	if (r == -EPERM)
		log_error(log, "cannot load the eBPF programs: not permitted; the runner needs to be root or to have "
			       "the capabilities bpf, perfmon, sys_admin and sys_ptrace");
	else if (r == -ESRCH || r == -ENOENT)
		log_error(log, "cannot load the eBPF programs: this kernel offers no BTF at /sys/kernel/btf/vmlinux "
			       "(CONFIG_DEBUG_INFO_BTF): %s", strerror(-r));
	else if (r == -ENOSYS)
		log_error(log, "cannot load the eBPF programs: this kernel has no bpf system call");
	else
		log_error(log, "cannot load the eBPF programs: %s; this needs Linux 5.17 or newer and a kernel that "
			       "permits uprobe, tracepoint and tp_btf programs (details with --verbose --verbose)",
			strerror(-r));
	return r;
}

/* Loads only what the mechanism uses, with the attach type it asks for. */
static void choose_programs(struct memory_bpf *object, enum attach_mechanism mechanism)
{
	bool session = mechanism == ATTACH_SESSION;

	bpf_program__set_autoload(object->progs.allocation_called, session);
	bpf_program__set_autoload(object->progs.allocation_entered, !session);
	bpf_program__set_autoload(object->progs.allocation_returned, !session);
	if (mechanism == ATTACH_PERF)
		return;
	bpf_program__set_expected_attach_type(object->progs.allocation_called, ATTACH_TYPE_UPROBE_SESSION);
	bpf_program__set_expected_attach_type(object->progs.allocation_entered, ATTACH_TYPE_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(object->progs.allocation_returned, ATTACH_TYPE_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(object->progs.free_entered, ATTACH_TYPE_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(object->progs.free_called_inside, ATTACH_TYPE_UPROBE_MULTI);
}

/* Opens the object, from a copy without may_goto where loops are to be made by calls. */
static int open_object(struct programs *programs, bool by_calls)
{
	struct memory_bpf *object = calloc(1, sizeof(*object));
	int r = object ? memory_bpf__create_skeleton(object) : -ENOMEM;

	if (!r && by_calls) {
		programs->elf = malloc(object->skeleton->data_sz);
		if (!programs->elf)
			r = -ENOMEM;
		else
			memcpy(programs->elf, object->skeleton->data, object->skeleton->data_sz);
		if (!r)
			r = may_goto_remove(programs->elf, object->skeleton->data_sz);
		object->skeleton->data = programs->elf;
	}
	if (r >= 0)
		r = bpf_object__open_skeleton(object->skeleton, NULL);
	if (r) {
		memory_bpf__destroy(object);
		return r;
	}
	programs->object = object;
	return 0;
}

static int open_and_load(struct programs *programs, const struct programs_settings *settings, bool by_calls)
{
	struct memory_bpf *object;
	int r = open_object(programs, by_calls);

	if (r)
		return r;
	object = programs->object;
	object->rodata->with_stacks = settings->with_stacks;
	object->data->stack_budget = settings->stack_budget;
	object->rodata->stack_identity = settings->identity;
	object->rodata->scrub_stacks = settings->scrub_stacks;
	object->rodata->define_always = settings->define_always;
	object->rodata->loops_converge = !by_calls;
	choose_programs(object, programs->mechanism);
	return memory_bpf__load(object);
}

/* Where the kernel knows may_goto, but its verifier does not accept the loops, as on an older kernel. */
static int load(struct programs *programs, const struct programs_settings *settings)
{
	bool by_calls = settings->loops_by_calls || !may_goto_probe();
	int r = open_and_load(programs, settings, by_calls);

	if (!by_calls && (r == -EACCES || r == -EINVAL || r == -E2BIG)) {
		log_debug(programs->log, "the kernel refuses loops by may_goto: %s", strerror(-r));
		memory_bpf__destroy(programs->object);
		programs->object = NULL;
		r = open_and_load(programs, settings, true);
	}
	return r ? explain_load(programs->log, r) : 0;
}

static int keep_link(struct programs *programs, int link, const char *what)
{
	int r = link < 0 ? link : descriptors_add(&programs->links, link);

	if (r)
		log_error(programs->log, "cannot attach to %s: %s", what, strerror(-r));
	return r;
}

static int attach_syscall(struct programs *programs, struct bpf_program *program, const char *name, bool optional)
{
	int event = tracepoint_open_syscall(name), r;

	if (event == -ENOENT && optional)
		return 0;
	if (event < 0) {
		log_error(programs->log, "cannot open the tracepoint syscalls:%s: %s", name, strerror(-event));
		return event;
	}
	r = descriptors_add(&programs->events, event);
	if (r)
		return r;
	return keep_link(programs, bpf_link_create(bpf_program__fd(program), event, BPF_PERF_EVENT, NULL), name);
}

static int attach_tracepoints(struct programs *programs)
{
	struct memory_bpf *object = programs->object;
	struct {
		struct bpf_program *program;
		const char *name;
		bool optional;
	} syscalls[] = {
		{object->progs.mmap_returned, "sys_exit_mmap", false},
		{object->progs.munmap_returned, "sys_exit_munmap", false},
		{object->progs.mremap_returned, "sys_exit_mremap", false},
		{object->progs.mprotect_returned, "sys_exit_mprotect", false},
		{object->progs.pkey_mprotect_returned, "sys_exit_pkey_mprotect", true},
		{object->progs.brk_returned, "sys_exit_brk", false},
	};
	struct {
		struct bpf_program *program;
		const char *name;
	} tasks[] = {
		{object->progs.task_exited, "sched_process_exit"},
		{object->progs.task_forked, "sched_process_fork"},
		{object->progs.task_executed, "sched_process_exec"},
	};
	int r;

	for (unsigned i = 0; i < N_ELEMENTS(syscalls); i++) {
		r = attach_syscall(programs, syscalls[i].program, syscalls[i].name, syscalls[i].optional);
		if (r)
			return r;
	}
	for (unsigned i = 0; i < N_ELEMENTS(tasks); i++) {
		r = keep_link(programs, bpf_raw_tracepoint_open(NULL, bpf_program__fd(tasks[i].program)), tasks[i].name);
		if (r)
			return r;
	}
	return 0;
}

/* Runs a program on this thread. Its changes to the context are written back to where it came from. */
static int run_program(const struct bpf_program *program, void *context, size_t n_context)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = context, .ctx_size_in = n_context);

	return bpf_prog_test_run_opts(bpf_program__fd(program), &options);
}

static const char *const mechanism_names[] = {
	[ATTACH_PERF] = "uprobes through perf events",
	[ATTACH_MULTI] = "uprobe multi links",
	[ATTACH_SESSION] = "uprobe sessions",
};

int programs_new(const struct programs_settings *settings, const struct log_sink *log, struct programs **ret_programs)
{
	struct programs *programs = calloc(1, sizeof(*programs));
	libbpf_print_fn_t printed;
	int r;

	if (!programs)
		return -ENOMEM;
	programs->log = log;
	libbpf_log = log;
	printed = libbpf_set_print(print_libbpf);
	programs->mechanism = settings->mechanism < 0 ? attach_mechanism_probe() : (unsigned)settings->mechanism;
	r = load(programs, settings);
	if (!r)
		r = attach_tracepoints(programs);
	if (!r) {
		r = run_program(programs->object->progs.identify_runner, NULL, 0);
		if (r)
			log_error(log, "cannot find out the runner's PID namespace: %s", strerror(-r));
	}
	libbpf_set_print(printed);
	libbpf_log = NULL;
	if (r) {
		programs_free(programs);
		return r;
	}
	log_info(log, "allocator probes: %s; processes: tp_btf; mappings: system call tracepoints",
		mechanism_names[programs->mechanism]);
	*ret_programs = programs;
	return 0;
}

void programs_set_root(struct programs *programs, uint32_t pid)
{
	__atomic_store_n(&programs->object->bss->root_pid, pid, __ATOMIC_SEQ_CST);
}

void programs_set_recording(struct programs *programs, bool recording)
{
	__atomic_store_n(&programs->object->data->recording, recording, __ATOMIC_SEQ_CST);
}

/* A program and which of a file's probes it is for. */
struct probe_set {
	const struct bpf_program *program;
	uint32_t type; /* of the link, where there are links */
	enum probe_kind kind;
	bool at_return;
};

static int add_link(struct descriptors *links, int link)
{
	return link < 0 ? link : descriptors_add(links, link);
}

static int attach_set(struct programs *programs, int fd, const struct probe_set *set, const struct probe *probes,
	unsigned n_probes, struct descriptors *attached)
{
	CLEANUP_FREE uint64_t *offsets = calloc(n_probes, sizeof(*offsets));
	CLEANUP_FREE uint64_t *cookies = calloc(n_probes, sizeof(*cookies));
	unsigned n = 0;
	int program, r = 0;

	if (!offsets || !cookies)
		return -ENOMEM;
	for (unsigned i = 0; i < n_probes; i++) {
		if (probes[i].kind != set->kind)
			continue;
		offsets[n] = probes[i].file_offset;
		cookies[n++] = probes[i].cookie;
	}
	if (!n)
		return 0;
	program = bpf_program__fd(set->program);
	if (programs->mechanism != ATTACH_PERF)
		return add_link(attached,
			attach_uprobe_multi(program, set->type, fd, offsets, cookies, n, set->at_return));
	for (unsigned i = 0; i < n && !r; i++)
		r = add_link(attached, attach_uprobe_perf(program, fd, offsets[i], cookies[i], set->at_return));
	return r;
}

int programs_attach(struct programs *programs, int fd, const struct probe *probes, unsigned n_probes,
	struct descriptors *ret_links)
{
	struct memory_bpf *object = programs->object;
	/* Returns first: an entry whose return is not caught would stay open. */
	const struct probe_set pair[] = {
		{object->progs.allocation_returned, ATTACH_TYPE_UPROBE_MULTI, PROBE_ALLOCATION, true},
		{object->progs.free_entered, ATTACH_TYPE_UPROBE_MULTI, PROBE_FREE, false},
		{object->progs.free_called_inside, ATTACH_TYPE_UPROBE_MULTI, PROBE_INTERNAL, false},
		{object->progs.allocation_entered, ATTACH_TYPE_UPROBE_MULTI, PROBE_ALLOCATION, false},
	};
	const struct probe_set session[] = {
		{object->progs.free_entered, ATTACH_TYPE_UPROBE_MULTI, PROBE_FREE, false},
		{object->progs.free_called_inside, ATTACH_TYPE_UPROBE_MULTI, PROBE_INTERNAL, false},
		{object->progs.allocation_called, ATTACH_TYPE_UPROBE_SESSION, PROBE_ALLOCATION, false},
	};
	bool one = programs->mechanism == ATTACH_SESSION;
	const struct probe_set *sets = one ? session : pair;
	unsigned n_sets = one ? N_ELEMENTS(session) : N_ELEMENTS(pair);
	struct descriptors attached = {};

	for (unsigned i = 0; i < n_sets; i++) {
		int r = attach_set(programs, fd, &sets[i], probes, n_probes, &attached);

		if (r) {
			descriptors_close(&attached);
			return r;
		}
	}
	*ret_links = attached;
	return 0;
}

int programs_flush(struct programs *programs, struct flush_request *ret_left)
{
	return run_program(programs->object->progs.flush_calls, ret_left, sizeof(*ret_left));
}

void programs_detach(struct programs *programs, struct descriptors *links, struct descriptors *events)
{
	descriptors_move(links, &programs->links);
	descriptors_move(events, &programs->events);
}

int programs_identify_file(struct programs *programs, int fd, uint64_t *ret_dev, uint64_t *ret_ino)
{
	struct file_request request = {.fd = fd};
	int r = run_program(programs->object->progs.identify_file, &request, sizeof(request));

	if (r)
		return r;
	if (!request.found)
		return -ENOENT;
	*ret_dev = request.dev;
	*ret_ino = request.ino;
	return 0;
}

/* A map with one value per row. */
static int make_rows(const uint64_t *rows, size_t n_rows)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	CLEANUP_CLOSE int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "module_rows", sizeof(uint32_t), sizeof(*rows), n_rows, &options);
	size_t n_bytes = n_rows * sizeof(*rows);
	void *memory;

	if (fd < 0)
		return fd;
	memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	memcpy(memory, rows, n_bytes);
	munmap(memory, n_bytes);
	return steal_fd(&fd);
}

int programs_add_rules(struct programs *programs, uint64_t dev, uint64_t ino, const uint64_t *rows, size_t n_rows)
{
	struct {
		uint64_t dev, ino;
	} file = {dev, ino};
	uint32_t module = programs->n_modules + 1, size = n_rows;
	CLEANUP_CLOSE int fd = -1;
	int r;

	if (module >= MAX_MODULES)
		return -ENOSPC;
	fd = make_rows(rows, n_rows);
	if (fd < 0)
		return fd;
	r = bpf_map_update_elem(bpf_map__fd(programs->object->maps.module_rows), &module, &fd, BPF_ANY);
	if (!r)
		r = bpf_map_update_elem(bpf_map__fd(programs->object->maps.module_sizes), &module, &size, BPF_ANY);
	/* Last: from here on it is used. */
	if (!r)
		r = bpf_map_update_elem(bpf_map__fd(programs->object->maps.modules), &file, &module, BPF_ANY);
	if (r)
		return r;
	programs->n_modules = module;
	programs->rules_bytes += n_rows * sizeof(*rows);
	return 0;
}

uint64_t programs_rules_bytes(const struct programs *programs)
{
	return programs->rules_bytes;
}

int programs_add_mapping(struct programs *programs, const struct mapping_request *request)
{
	struct mapping_request copy = *request;

	return run_program(programs->object->progs.add_mapping, &copy, sizeof(copy));
}

bool programs_take_executed(struct programs *programs, uint32_t pid, struct executed *ret_executed)
{
	return bpf_map_lookup_and_delete_elem(bpf_map__fd(programs->object->maps.executed), &pid, ret_executed) == 0;
}

int programs_ring_fd(const struct programs *programs)
{
	return bpf_map__fd(programs->object->maps.ring);
}

uint64_t programs_lost(const struct programs *programs, enum lost_counter counter)
{
	return __atomic_load_n(&programs->object->bss->lost[counter], __ATOMIC_RELAXED);
}

void programs_add_lost(struct programs *programs, enum lost_counter counter, uint64_t n)
{
	__atomic_fetch_add(&programs->object->bss->lost[counter], n, __ATOMIC_RELAXED);
}

uint64_t programs_note(const struct programs *programs, enum note_counter counter)
{
	return __atomic_load_n(&programs->object->bss->notes[counter], __ATOMIC_RELAXED);
}

struct programs *programs_free(struct programs *programs)
{
	if (!programs)
		return NULL;
	descriptors_close(&programs->links);
	descriptors_close(&programs->events);
	memory_bpf__destroy(programs->object);
	free(programs->elf);
	free(programs);
	return NULL;
}
