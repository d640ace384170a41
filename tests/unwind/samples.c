/* samples.c: stacks taken by gdb_samples.py, with gdb's own view of them. */
#include "samples.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "artifact/writer.h"
#include "profile/dump.h"
#include "util/cleanup.h"

#define MAX_ARGUMENTS 64

static struct json_object *member(struct json_object *object, const char *name)
{
	struct json_object *value = NULL;

	cr_assert(json_object_object_get_ex(object, name, &value), "a sample without %s", name);
	return value;
}

static uint64_t number(struct json_object *object, const char *name)
{
	return json_object_get_uint64(member(object, name));
}

static void *grow(void *array, size_t n, size_t size)
{
	array = reallocarray(array, n, size);
	cr_assert_not_null(array);
	return array;
}

static void read_mappings(struct json_object *line, struct samples *samples)
{
	struct json_object *maps = member(line, "maps");
	size_t n = json_object_array_length(maps);

	samples->mappings = grow(samples->mappings, samples->n_mappings + n, sizeof(samples->mappings[0]));
	for (size_t i = 0; i < n; i++) {
		struct json_object *map = json_object_array_get_idx(maps, i);
		struct json_object *path = member(map, "path");

		samples->mappings[samples->n_mappings++] = (struct event){
		        .type = EVENT_MAPPING,
		        .pid = (uint32_t)number(line, "pid"),
		        .tid = (uint32_t)number(line, "pid"),
		        .timestamp = number(line, "time"),
		        .addr = number(map, "start"),
		        .mapping =
		                {
		                        .path = json_object_get_string(path),
		                        .n_path = (size_t)json_object_get_string_len(path),
		                        .dev = number(map, "dev"),
		                        .ino = number(map, "ino"),
		                        .file_offset = number(map, "file_offset"),
		                        .len = number(map, "len"),
		                },
		};
	}
}

static unsigned hex_digit(char digit)
{
	return digit <= '9' ? (unsigned)(digit - '0') : (unsigned)(digit - 'a' + 10);
}

static void read_bytes(struct json_object *line, struct sample *sample)
{
	const char *hex = json_object_get_string(member(line, "bytes"));
	size_t n = strlen(hex) / 2;

	sample->bytes = malloc(n + 1);
	cr_assert_not_null(sample->bytes);
	for (size_t i = 0; i < n; i++)
		sample->bytes[i] = (uint8_t)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
	sample->definition.stack.bytes = sample->bytes;
	sample->definition.stack.n_bytes = n;
}

static void read_witness(struct json_object *line, struct sample *sample)
{
	struct json_object *pcs = member(line, "pcs"), *names = member(line, "names");
	size_t n = json_object_array_length(pcs);

	sample->n_frames = n;
	sample->pcs = calloc(n + 1, sizeof(sample->pcs[0]));
	sample->names = calloc(n + 1, sizeof(sample->names[0]));
	cr_assert(sample->pcs && sample->names);
	for (size_t i = 0; i < n; i++) {
		sample->pcs[i] = json_object_get_uint64(json_object_array_get_idx(pcs, i));
		sample->names[i] = strdup(json_object_get_string(json_object_array_get_idx(names, i)));
	}
}

static void read_sample(struct json_object *line, struct samples *samples)
{
	struct json_object *regs = member(line, "regs");
	struct sample sample = {.definition = {.type = EVENT_STACK_DEFINITION}};
	struct event_stack *stack = &sample.definition.stack;

	sample.definition.pid = (uint32_t)number(line, "pid");
	sample.definition.tid = (uint32_t)number(line, "tid");
	sample.definition.timestamp = number(line, "time");
	stack->hash = samples->n_samples + 1;
	stack->sp = number(line, "sp");
	stack->truncated = json_object_get_boolean(member(line, "truncated"));
	for (size_t i = 0; i < json_object_array_length(regs) && i < EVENT_N_REGS; i++)
		stack->regs[i] = json_object_get_uint64(json_object_array_get_idx(regs, i));
	read_bytes(line, &sample);
	read_witness(line, &sample);
	samples->samples = grow(samples->samples, samples->n_samples + 1, sizeof(sample));
	samples->samples[samples->n_samples++] = sample;
}

void samples_read(const char *path, struct samples *ret_samples)
{
	CLEANUP_FCLOSE FILE *file = fopen(path, "r");
	CLEANUP_FREE char *line = NULL;
	struct samples samples = {.json = json_object_new_array()};
	size_t n_line = 0;

	cr_assert_not_null(file, "%s is missing", path);
	while (getline(&line, &n_line, file) > 0) {
		struct json_object *object = json_tokener_parse(line);

		cr_assert_not_null(object, "%s has a broken line", path);
		json_object_array_add(samples.json, object);
		if (json_object_object_get_ex(object, "maps", NULL)) {
			read_mappings(object, &samples);
			continue;
		}
		read_sample(object, &samples);
		json_object_object_del(object, "bytes");
	}
	*ret_samples = samples;
}

/* `settings` are NAME=VALUE. */
static void run_gdb(char *const *argv, const char *const *settings)
{
	int status;
	pid_t pid = fork();

	cr_assert(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		for (; settings && *settings; settings++)
			putenv((char *)*settings);
		execvp(argv[0], argv);
		_exit(127);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0, "gdb failed with status %#x", (unsigned)status);
}

/* A C library of its own for the program: a recording elsewhere on the machine may have probes in the one all
 * others share, and where it has one the kernel does not let gdb's breakpoints through. */
static void copy_library(const char *folder)
{
	const char *from = "/lib/x86_64-linux-gnu/libc.so.6";
	CLEANUP_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
	char path[512];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/libc.so.6", folder);
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	cr_assert(in >= 0 && out >= 0);
	while ((n = sendfile(out, in, NULL, 1 << 20)) > 0)
		;
	cr_assert_eq(n, 0);
}

void samples_take(const char *const *argv, const char *const *settings, const char *scratch,
        struct samples *ret_samples)
{
	const char *all[MAX_ARGUMENTS] = {"gdb", "-nx", "-batch", "-x", GDB_SAMPLES_SCRIPT, "--args"};
	size_t n = 6;
	char path[512];

	while (*argv && n < MAX_ARGUMENTS - 1)
		all[n++] = *argv++;
	snprintf(path, sizeof(path), "%s/samples.json", scratch);
	setenv("SAMPLES_OUT", path, 1);
	setenv("SAMPLES_LIBRARIES", scratch, 1);
	copy_library(scratch);
	run_gdb((char *const *)all, settings);
	samples_read(path, ret_samples);
	unlink(path);
}

static void add(struct artifact_writer *writer, const struct event *event)
{
	cr_assert_eq(artifact_writer_add(writer, event), 0);
}

/* Each sample is what defined the stack of one allocation. */
static void write_artifact(const struct samples *samples, int folder_fd)
{
	CLEANUP_CLOSE int fd = -1;
	struct artifact_writer *writer;

	cr_assert_eq(mkdirat(folder_fd, "results", 0700), 0);
	fd = openat(folder_fd, "results/" SAMPLES_ARTIFACT, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	cr_assert_eq(artifact_writer_new(fd, -1, &writer), 0);
	for (size_t i = 0; i < samples->n_mappings; i++)
		add(writer, &samples->mappings[i]);
	for (size_t i = 0; i < samples->n_samples; i++) {
		struct event allocation = samples->samples[i].definition;

		add(writer, &allocation);
		allocation = (struct event){
		        .type = EVENT_MALLOC,
		        .pid = allocation.pid,
		        .tid = allocation.tid,
		        .timestamp = allocation.timestamp,
		        .addr = 0x10000 + 32 * i,
		        .size = 32,
		        .stack_hash = allocation.stack.hash,
		};
		add(writer, &allocation);
	}
	cr_assert_eq(artifact_writer_finish(writer), 0);
	artifact_writer_free(writer);
}

void samples_write_profile(const struct samples *samples, int folder_fd, const char *perf_map_folder)
{
	const struct dump_request request = {
	        .profile_fd = folder_fd,
	        .owner_uid = getuid(),
	        .owner_gid = getgid(),
	        .artifact_name = SAMPLES_ARTIFACT,
	        .arch = "x86_64",
	        .integration_name = "",
	        .integration_version = "",
	        .perf_map_folder = perf_map_folder,
	};
	struct dump_result result;

	write_artifact(samples, folder_fd);
	cr_assert_eq(profile_dump(&request, &result), 0);
	cr_assert_eq(result.n_hashes, samples->n_samples);
}

void samples_deinit(struct samples *samples)
{
	for (size_t i = 0; i < samples->n_samples; i++) {
		for (size_t j = 0; j < samples->samples[i].n_frames; j++)
			free(samples->samples[i].names[j]);
		free(samples->samples[i].names);
		free(samples->samples[i].pcs);
		free(samples->samples[i].bytes);
	}
	free(samples->samples);
	free(samples->mappings);
	json_object_put(samples->json);
}
