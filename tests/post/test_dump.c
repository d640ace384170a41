/* test_dump.c: whole profile folders out of artifacts. */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "folder.h"
#include "profile/dump.h"
#include "profile/metadata.h"
#include "support.h"
#include "util/cleanup.h"

#define PID       1
#define N_MAX     64
#define STACK_PAD 64

/* A stream that looks like the recording of this very process. */
struct recording {
	struct event events[4 * N_MAX];
	size_t n;
	struct dump_source sources[N_MAX];
	size_t n_sources;
	char paths[N_MAX][300];
	uint64_t time;
};

static struct event *add_event(struct recording *recording, enum event_type type, uint32_t pid)
{
	struct event *event = &recording->events[recording->n++];

	cr_assert_lt(recording->n, N_ELEMENTS(recording->events));
	*event = (struct event){.type = type, .pid = pid, .tid = pid, .timestamp = ++recording->time};
	return event;
}

/* One line of /proc/self/maps that is executable and of a file. */
static void add_mapping(struct recording *recording, const char *line)
{
	unsigned long start, end, offset, ino;
	unsigned dev_major, dev_minor;
	size_t i = recording->n_sources;
	char rights[8];
	struct event *event;

	if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %299s", &start, &end, rights, &offset, &dev_major,
	            &dev_minor, &ino, recording->paths[i]) != 8 ||
	        rights[2] != 'x' || recording->paths[i][0] != '/')
		return;
	event = add_event(recording, EVENT_MAPPING, PID);
	event->addr = start;
	event->mapping = (struct event_mapping){
	        .path = recording->paths[i],
	        .n_path = strlen(recording->paths[i]),
	        .dev = (uint64_t)dev_major << 20 | dev_minor,
	        .ino = ino,
	        .file_offset = offset,
	        .len = end - start,
	};
	for (size_t j = 0; j < i; j++)
		if (strcmp(recording->paths[j], recording->paths[i]) == 0)
			return; /* a mapping in pieces */
	recording->sources[i] = (struct dump_source){
	        .dev = event->mapping.dev,
	        .ino = ino,
	        .fd = open(recording->paths[i], O_RDONLY | O_CLOEXEC),
	        .path = recording->paths[i],
	};
	cr_assert_geq(recording->sources[i].fd, 0);
	recording->n_sources++;
}

static struct recording *record_self(void)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	CLEANUP_FCLOSE FILE *maps = fopen("/proc/self/maps", "re");
	CLEANUP_FREE char *line = NULL;
	size_t n_line = 0;

	cr_assert(recording && maps);
	while (getline(&line, &n_line, maps) > 0)
		add_mapping(recording, line);
	cr_assert_gt(recording->n_sources, 2);
	return recording;
}

/* An allocation with a stack whose innermost frame is this file's code. */
static void add_allocation(
        struct recording *recording, uint32_t pid, uint64_t hash, uint64_t addr, uint64_t size)
{
	static const uint8_t stack[STACK_PAD];
	struct event *definition = add_event(recording, EVENT_STACK_DEFINITION, pid), *event;

	definition->stack.hash = hash;
	definition->stack.sp = definition->stack.regs[EVENT_REG_X86_RSP] = 0x7ffc00001000;
	definition->stack.regs[EVENT_REG_X86_RIP] = (uintptr_t)record_self;
	definition->stack.bytes = stack;
	definition->stack.n_bytes = sizeof(stack);
	event = add_event(recording, EVENT_MALLOC, pid);
	event->addr = addr;
	event->size = size;
	event->stack_hash = hash;
}

static void add_fork(struct recording *recording, uint32_t pid, uint32_t parent)
{
	add_event(recording, EVENT_FORK, pid)->parent_pid = parent;
}

static struct recording *free_recording(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_sources; i++)
		close(recording->sources[i].fd);
	free(recording);
	return NULL;
}

static struct dump_request request_for(const struct folder *folder, const struct recording *recording)
{
	static const struct dump_name names[] = {{PID, "first"}, {PID, "test-\"dump\""}};

	return (struct dump_request){
	        .profile_fd = folder->fd,
	        .owner_uid = geteuid(),
	        .owner_gid = getegid(),
	        .artifact_name = "1.MemtrackArtifact.msgpack",
	        .arch = "x86_64",
	        .integration_name = "",
	        .integration_version = "",
	        .sources = recording->sources,
	        .n_sources = recording->n_sources,
	        .names = names,
	        .n_names = N_ELEMENTS(names),
	};
}

static json_object *member(json_object *object, const char *key)
{
	json_object *value;

	cr_assert(json_object_object_get_ex(object, key, &value), "no %s in %s", key,
	        json_object_to_json_string(object));
	return value;
}

static json_object *read_metadata(const struct folder *folder)
{
	CLEANUP_CLOSE int fd = openat(folder->fd, METADATA_NAME, O_RDONLY | O_CLOEXEC);
	json_object *metadata;

	cr_assert_geq(fd, 0);
	metadata = json_object_from_fd(fd);
	cr_assert_not_null(metadata);
	return metadata;
}

static const char *key_of_path(json_object *metadata, const char *path)
{
	json_object_object_foreach(member(metadata, "path_key_to_path"), key, value)
	{
		if (strcmp(json_object_get_string(value), path) == 0)
			return key;
	}
	cr_assert_fail("no key for %s", path);
	return NULL;
}

struct loaded {
	json_object *metadata;
	json_object *placements; /* of this process */
	size_t n_found;
};

/* What the dynamic linker says of one object must be what the metadata say. */
static int compare_bias(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded *loaded = context;
	char path[300];
	const char *key;

	(void)size;
	if (info->dlpi_name[0] ? !realpath(info->dlpi_name, path) : !realpath("/proc/self/exe", path))
		return 0; /* the vDSO */
	key = key_of_path(loaded->metadata, path);
	for (size_t i = 0; i < json_object_array_length(loaded->placements); i++) {
		json_object *placement = json_object_array_get_idx(loaded->placements, i);

		if (strcmp(json_object_get_string(member(placement, "perf_map_key")), key) != 0)
			continue;
		cr_assert_eq(json_uint(placement, "load_bias"), info->dlpi_addr, "%s", path);
		loaded->n_found++;
	}
	return 0;
}

static void check_process_maps(json_object *metadata)
{
	struct loaded loaded = {.metadata = metadata};
	json_object *symbols = member(metadata, "mapped_process_module_symbols");
	json_object *unwind = member(metadata, "mapped_process_unwind_data_by_pid"), *parent, *child;

	loaded.placements = member(symbols, "1");
	dl_iterate_phdr(compare_bias, &loaded);
	cr_assert_gt(loaded.n_found, 2);
	cr_assert_eq(loaded.n_found, json_object_array_length(loaded.placements));
	/* The child has all of the parent's placements, since the fork. */
	parent = member(unwind, "1");
	child = member(unwind, "2");
	cr_assert_eq(json_object_array_length(parent), json_object_array_length(child));
	for (size_t i = 0; i < json_object_array_length(child); i++)
		cr_assert_gt(json_uint(json_object_array_get_idx(child, i), "timestamp"),
		        json_uint(json_object_array_get_idx(parent, i), "timestamp"));
}

/* A recording of this very process: the independent checker finds no fault, and what the folder says of load
 * biases is what the dynamic linker says. */
Test(dump, whole_folder)
{
	struct folder folder = folder_new();
	struct recording *recording = record_self();
	struct dump_request request = request_for(&folder, recording);
	struct dump_result result;
	json_object *metadata, *said;
	int status;

	add_allocation(recording, PID, UINT64_MAX, 0x1000, 100);
	add_fork(recording, 2, PID);
	add_allocation(recording, 2, 7, 0x2000, 50);
	add_event(recording, EVENT_FREE, 2)->addr = 0x1000;
	add_event(recording, EVENT_EXIT, 2);
	add_event(recording, EVENT_EXIT, PID);
	folder_write_artifact(&folder, recording->events, recording->n);
	cr_assert_eq(profile_dump(&request, &result), 0);
	cr_assert_eq(result.n_events, recording->n);
	cr_assert_eq(result.n_processes, 2);
	cr_assert_eq(result.n_hashes, 2);
	cr_assert_eq(result.n_undefined, 0);
	cr_assert_eq(result.n_modules, recording->n_sources);
	cr_assert_eq(result.n_unreadable, 0);
	cr_assert_eq(result.sums.peak_bytes, 150);
	cr_assert(!result.cut);
	metadata = read_metadata(&folder);
	check_process_maps(metadata);
	cr_assert_str_eq(
	        json_object_get_string(member(member(metadata, "process_names"), "1")), "test-\"dump\"");
	cr_assert_str_eq(
	        json_object_get_string(member(member(metadata, "process_names"), "2")), "test-\"dump\"");
	cr_assert_eq(json_uint(metadata, "version"), 1);
	cr_assert_gt(json_object_object_length(member(metadata, "build_ids")), 0);
	cr_assert_gt(json_object_object_length(member(metadata, "debug_info")), 0);
	json_object_put(metadata);
	if (have_profile_check()) {
		said = profile_check(&folder, "--stacks --strict", &status);
		cr_assert_eq(status, 0, "%s", json_object_to_json_string(said));
		cr_assert_eq(json_uint(said, "peak_live"), 150);
		json_object_put(said);
	}
	free_recording(recording);
	folder_remove(&folder);
}

static bool has_reason(json_object *metadata, const char *text)
{
	json_object *unreadable = member(metadata, "unreadable");

	for (size_t i = 0; i < json_object_array_length(unreadable); i++)
		if (strstr(json_object_get_string(member(json_object_array_get_idx(unreadable, i), "reason")),
		            text))
			return true;
	return false;
}

static void count_warning(void *context, unsigned level, const char *text)
{
	cr_assert_eq(level, LOG_LEVEL_WARNING, "%s", text);
	++*(size_t *)context;
}

/* What cannot be read is named with its reason, and does not keep the rest from being read. */
Test(dump, unreadable_modules)
{
	static const char text[] = "#!/bin/sh\n";
	struct folder folder = folder_new();
	struct recording *recording = record_self();
	size_t n_warnings = 0, n_good = 0;
	struct log_sink log = {.write = count_warning, .context = &n_warnings};
	struct dump_request request = request_for(&folder, recording);
	struct dump_result result;
	struct event *event;
	json_object *metadata;

	for (size_t i = 0; i < recording->n; i++)
		n_good += strcmp(recording->events[i].mapping.path, recording->paths[0]) != 0 &&
		          strcmp(recording->events[i].mapping.path, recording->paths[1]) != 0;
	close(recording->sources[0].fd);
	recording->sources[0].fd = -1;
	recording->sources[0].reason = "no descriptor left";
	close(recording->sources[1].fd);
	recording->sources[1].fd = temporary_file();
	cr_assert_eq(write(recording->sources[1].fd, text, sizeof(text)), sizeof(text));
	event = add_event(recording, EVENT_MAPPING, PID);
	event->addr = 0x10000;
	event->mapping = (struct event_mapping){
	        .path = "/nowhere/\xff\n", .n_path = 11, .dev = 1, .ino = 2, .len = 4096};
	add_allocation(recording, PID, 1, 0x1000, 100);
	folder_write_artifact(&folder, recording->events, recording->n);
	request.log = &log;
	cr_assert_eq(profile_dump(&request, &result), 0);
	cr_assert_eq(result.n_unreadable, 3);
	cr_assert_eq(n_warnings, 3);
	metadata = read_metadata(&folder);
	cr_assert(has_reason(metadata, "no descriptor left"));
	cr_assert(has_reason(metadata, "not an ELF file"));
	cr_assert(has_reason(metadata, "not kept open"));
	cr_assert_eq(json_object_array_length(member(member(metadata, "mapped_process_module_symbols"), "1")),
	        n_good);
	key_of_path(metadata, "/nowhere/\xef\xbf\xbd\n");
	json_object_put(metadata);
	free_recording(recording);
	folder_remove(&folder);
}

/* A file that nobody kept open is read by its path, where it is still the same. */
Test(dump, by_path)
{
	struct folder folder = folder_new();
	struct recording *recording = record_self();
	struct dump_request request = request_for(&folder, recording);
	struct dump_result result;

	request.n_sources = 0;
	add_allocation(recording, PID, 1, 0x1000, 100);
	folder_write_artifact(&folder, recording->events, recording->n);
	cr_assert_eq(profile_dump(&request, &result), 0);
	cr_assert_eq(result.n_unreadable, 0);
	cr_assert_eq(result.n_modules, recording->n_sources);
	free_recording(recording);
	folder_remove(&folder);
}

/* An inode that was used for two files in turn: each is read from its own descriptor. */
Test(dump, one_inode_two_files)
{
	struct folder folder = folder_new();
	struct recording *recording = record_self();
	struct dump_request request = request_for(&folder, recording);
	struct dump_result result;
	json_object *metadata;
	struct event *event;

	recording->sources[recording->n_sources] = recording->sources[0];
	recording->sources[recording->n_sources].path = "/other";
	recording->sources[recording->n_sources].fd = open_fixture("lld.so");
	request.n_sources = ++recording->n_sources;
	event = add_event(recording, EVENT_MAPPING, 2);
	event->addr = 0x10000;
	event->mapping = (struct event_mapping){.path = "/other",
	        .n_path = 6,
	        .dev = recording->sources[0].dev,
	        .ino = recording->sources[0].ino,
	        .len = 4096};
	add_allocation(recording, PID, 1, 0x1000, 100);
	folder_write_artifact(&folder, recording->events, recording->n);
	cr_assert_eq(profile_dump(&request, &result), 0);
	cr_assert_eq(result.n_modules, recording->n_sources);
	cr_assert_eq(result.n_unreadable, 0);
	metadata = read_metadata(&folder);
	run("grep -q begins_with_inlined_code %s/%s.symbols.map", folder.path,
	        key_of_path(metadata, "/other"));
	run("! grep -q begins_with_inlined_code %s/%s.symbols.map", folder.path,
	        key_of_path(metadata, recording->paths[0]));
	json_object_put(metadata);
	free_recording(recording);
	folder_remove(&folder);
}

/* Nothing that is there already is written over or followed. */
Test(dump, existing_files)
{
	struct folder folder = folder_new();
	struct recording *recording = record_self();
	struct dump_request request = request_for(&folder, recording);
	struct dump_result result;
	struct stat status;

	cr_assert_eq(profile_dump(&request, &result), -ENOENT);
	folder_write_artifact(&folder, recording->events, recording->n);
	cr_assert_eq(symlinkat("elsewhere", folder.fd, METADATA_NAME), 0);
	cr_assert_eq(profile_dump(&request, &result), -EEXIST);
	cr_assert_eq(fstatat(folder.fd, "elsewhere", &status, 0), -1);
	cr_assert_eq(unlinkat(folder.fd, METADATA_NAME, 0), 0);
	cr_assert_eq(profile_dump(&request, &result), 0);
	/* The modules' files were there from the time before. */
	cr_assert_eq(result.n_unreadable, recording->n_sources);
	free_recording(recording);
	folder_remove(&folder);
}

struct interruption {
	unsigned at; /* call that says stop */
	unsigned n_calls;
	uint32_t last;
};

static int interrupt(void *context, uint32_t thousandths, const char *what)
{
	struct interruption *interruption = context;

	cr_assert_not_null(what);
	cr_assert_geq(thousandths, interruption->last);
	cr_assert_leq(thousandths, 1000);
	interruption->last = thousandths;
	return interruption->n_calls++ >= interruption->at;
}

/* Progress goes up to 1000; asked to stop at any call, the dump stops and still leaves metadata. */
Test(dump, progress_and_interruption)
{
	for (unsigned at = 0; at < 6; at++) {
		struct folder folder = folder_new();
		struct recording *recording = record_self();
		struct dump_request request = request_for(&folder, recording);
		struct interruption interruption = {.at = at == 5 ? UINT32_MAX : at};
		struct dump_result result;

		add_allocation(recording, PID, 1, 0x1000, 100);
		folder_write_artifact(&folder, recording->events, recording->n);
		request.progress = interrupt;
		request.progress_context = &interruption;
		request.n_threads = 1 + at % 2;
		if (at == 5) {
			cr_assert_eq(profile_dump(&request, &result), 0);
			cr_assert_eq(interruption.last, 1000);
		} else {
			cr_assert_eq(profile_dump(&request, &result), -EINTR);
		}
		cr_assert_eq(result.n_events, recording->n);
		json_object_put(read_metadata(&folder));
		free_recording(recording);
		folder_remove(&folder);
	}
}

static void put_file(const struct folder *folder, const char *name, const char *text)
{
	CLEANUP_CLOSE int fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), strlen(text));
}

/* Symbol maps are copied for processes of the run, and only those that nobody can have planted. */
Test(dump, perf_maps)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct folder folder = folder_new(), maps = folder_new();
	struct recording *recording = record_self();
	struct dump_request request = request_for(&folder, recording);
	struct dump_result result;
	CLEANUP_FREE char *text = NULL;
	int status;

	for (uint32_t pid = 2; pid < 8; pid++)
		add_fork(recording, pid, PID);
	put_file(&maps, "perf-2.map", "1000 10 jitted\n");
	cr_assert_eq(symlinkat("perf-2.map", maps.fd, "perf-3.map"), 0);
	put_file(&maps, "perf-4.map", "x");
	cr_assert_eq(linkat(maps.fd, "perf-4.map", maps.fd, "other", 0), 0);
	cr_assert_eq(mkfifoat(maps.fd, "perf-5.map", 0600), 0);
	put_file(&maps, "perf-6.map", "x");
	cr_assert_eq(utimensat(maps.fd, "perf-6.map", old, 0), 0);
	put_file(&maps, "perf-7.map", "x");
	if (geteuid() == 0)
		cr_assert_eq(fchownat(maps.fd, "perf-7.map", 4711, 4711, 0), 0);
	put_file(&maps, "perf-8.map", "x");
	folder_write_artifact(&folder, recording->events, recording->n);
	request.perf_map_folder = maps.path;
	cr_assert_eq(profile_dump(&request, &result), 0);
	text = shell(&status, "cd %s && echo perf-* && cat perf-2.map", folder.path);
	cr_assert_str_eq(text,
	        geteuid() == 0 ? "perf-2.map\n1000 10 jitted\n" : "perf-2.map perf-7.map\n1000 10 jitted\n");
	free_recording(recording);
	folder_remove(&folder);
	folder_remove(&maps);
}

/* What the reading finds missing is told under `lost`. */
Test(dump, lost)
{
	static const struct dump_lost lost[] = {{"ring", UINT64_MAX}};
	struct folder folder = folder_new();
	struct recording *recording = record_self();
	struct dump_request request = request_for(&folder, recording);
	struct dump_result result;
	json_object *metadata;
	struct stat status;

	add_allocation(recording, PID, 1, 0x1000, 100);
	recording->events[recording->n - 1].stack_hash = 2;
	folder_write_artifact(&folder, recording->events, recording->n);
	cr_assert_eq(fstatat(folder.fd, "results/1.MemtrackArtifact.msgpack", &status, 0), 0);
	free(shell(&(int){0}, "truncate -s %zd %s/results/*", (ssize_t)status.st_size - 1, folder.path));
	request.lost = lost;
	request.n_lost = 1;
	cr_assert_eq(profile_dump(&request, &result), 0);
	cr_assert(result.cut);
	cr_assert_eq(result.n_undefined, 1);
	metadata = read_metadata(&folder);
	cr_assert_eq(json_uint(member(metadata, "lost"), "ring"), UINT64_MAX);
	cr_assert_eq(json_uint(member(metadata, "lost"), "artifact_cut"), 1);
	cr_assert_eq(json_uint(member(metadata, "lost"), "undefined_stacks"), 1);
	cr_assert_eq(json_uint(member(metadata, "lost"), "malformed_events"), 0);
	json_object_put(metadata);
	free_recording(recording);
	folder_remove(&folder);
}

/* Files belong to whom the profile belongs. */
Test(dump, owner)
{
	struct folder folder = folder_new();
	struct recording *recording = record_self();
	struct dump_request request = request_for(&folder, recording);
	struct dump_result result;
	CLEANUP_FREE char *text = NULL;
	int status;

	if (geteuid() != 0)
		cr_skip_test("only root can give files away");
	add_allocation(recording, PID, 1, 0x1000, 100);
	folder_write_artifact(&folder, recording->events, recording->n);
	request.owner_uid = 4711;
	request.owner_gid = 4712;
	cr_assert_eq(profile_dump(&request, &result), 0);
	text = shell(&status, "find %s -type f ! -name '*Artifact*' ! \\( -uid 4711 -gid 4712 -perm 600 \\)",
	        folder.path);
	cr_assert_str_eq(text, "");
	free_recording(recording);
	folder_remove(&folder);
}

/* On a full disk there is an error, and no half-written file. */
Test(dump, full_disk)
{
	struct rlimit limit = {.rlim_cur = 10000, .rlim_max = RLIM_INFINITY};
	struct folder folder = folder_new();
	struct recording *recording = record_self();
	struct dump_request request = request_for(&folder, recording);
	struct dump_result result;
	CLEANUP_FREE char *text = NULL;
	int status;

	add_allocation(recording, PID, 1, 0x1000, 100);
	folder_write_artifact(&folder, recording->events, recording->n);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(profile_dump(&request, &result), -EFBIG);
	cr_assert_gt(result.n_unreadable, 0);
	text = shell(&status,
	        "find %s -size -10000c -type f -name '*.symbols.map' -newer /nowhere 2>/dev/null; "
	        "find %s -type f -size +9999c; ls %s",
	        folder.path, folder.path, folder.path);
	cr_assert_null(strstr(text, METADATA_NAME), "%s", text);
	cr_assert_null(strstr(text, "libc.so.6.symbols.map"), "%s", text);
	free_recording(recording);
	folder_remove(&folder);
}

Test(dump, interpreters)
{
	cr_assert(metadata_is_interpreter("/usr/bin/python3.11"));
	cr_assert(metadata_is_interpreter("/usr/bin/python3"));
	cr_assert(metadata_is_interpreter("python"));
	cr_assert(metadata_is_interpreter("/usr/lib/libpython3.11.so.1.0"));
	cr_assert(!metadata_is_interpreter("/usr/bin/python3-config"));
	cr_assert(!metadata_is_interpreter("/usr/lib/python3/x.so"));
	cr_assert(!metadata_is_interpreter("/usr/lib/libpython3.11.a"));
}
