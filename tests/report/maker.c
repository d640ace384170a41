/* maker.c: profile folders for tests. */
#include "maker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file.h"

#define MUST(condition)                                                                                      \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                      \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

struct maker maker_new(const char *path)
{
	struct maker maker = {.path = "/tmp/memstacks-test-XXXXXX"};
	char name[320];

	if (path) {
		MUST(snprintf(maker.path, sizeof(maker.path), "%s", path) < (int)sizeof(maker.path));
		MUST(mkdir(path, 0700) == 0);
	} else {
		MUST(mkdtemp(maker.path));
	}
	snprintf(name, sizeof(name), "%s/results", maker.path);
	MUST(mkdir(name, 0700) == 0);
	snprintf(name, sizeof(name), "%s/results/1.MemtrackArtifact.msgpack", maker.path);
	maker.artifact_fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	MUST(maker.artifact_fd >= 0);
	MUST(artifact_writer_new(maker.artifact_fd, -1, &maker.writer) == 0);
	return maker;
}

void maker_add(struct maker *maker, const struct event *event)
{
	MUST(artifact_writer_add(maker->writer, event) == 0);
}

void maker_define(struct maker *maker, uint64_t hash, const char *text)
{
	struct event event = {.type = EVENT_STACK_DEFINITION, .pid = 1, .tid = 1, .timestamp = 1};

	event.stack.hash = hash;
	event.stack.bytes = (const uint8_t *)text;
	event.stack.n_bytes = strlen(text);
	maker_add(maker, &event);
}

void maker_define_functions(struct maker *maker, uint64_t hash, const char *functions)
{
	size_t n_text = strlen(functions) * 40 + 100;
	char *text = malloc(n_text), *copy = strdup(functions), *rest = copy, *function;
	unsigned svma = 0;
	size_t n;

	MUST(text && copy);
	n = (size_t)snprintf(text, n_text, "0 0 0\n");
	while ((function = strsep(&rest, ";"))) {
		svma = 7; /* equal names have equal addresses */
		for (const char *at = function; *at; at++)
			svma = svma * 31 + (unsigned char)*at;
		n += (size_t)snprintf(
		        text + n, n_text - n, "%s\t\t\t\t\t/bin/program\t\t%x\n", function, svma & 0xffffff);
		MUST(n < n_text);
	}
	maker_define(maker, hash, text);
	free(text);
	free(copy);
}

void maker_malloc(
        struct maker *maker, uint32_t pid, uint64_t time, uint64_t addr, uint64_t size, uint64_t hash)
{
	maker_add(maker, &(struct event){.type = EVENT_MALLOC,
	                         .pid = pid,
	                         .tid = pid,
	                         .timestamp = time,
	                         .addr = addr,
	                         .size = size,
	                         .stack_hash = hash});
}

void maker_free_block(struct maker *maker, uint32_t pid, uint64_t time, uint64_t addr)
{
	maker_add(maker,
	        &(struct event){.type = EVENT_FREE, .pid = pid, .tid = pid, .timestamp = time, .addr = addr});
}

void maker_file(struct maker *maker, const char *name, const void *data, size_t n)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", maker->path, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(fd >= 0);
	MUST(file_write_all(fd, data, n) == 0);
	close(fd);
}

void maker_finish(struct maker *maker, const char *metadata)
{
	MUST(artifact_writer_finish(maker->writer) == 0);
	artifact_writer_free(maker->writer);
	close(maker->artifact_fd);
	if (metadata)
		maker_file(maker, "memory_metadata.json", metadata, strlen(metadata));
}

void maker_finish_whole(struct maker *maker, const char *more)
{
	/* {"uri_by_ts": [], "markers": []} */
	static const char timestamps[] = "\x82\xa9uri_by_ts\x90\xa7markers\x90";
	char *metadata;

	MUST(asprintf(&metadata,
	             "{\"version\": 1, \"integration\": [\"\", \"\"], \"arch\": \"x86_64\", "
	             "\"process_names\": {"
	             "\"1\": \"one\", \"2\": \"two\", \"3\": \"three\", \"4\": \"four\", \"5\": \"five\","
	             "\"6\": \"six\", \"7\": \"seven\", \"8\": \"eight\", \"9\": \"nine\"},"
	             "\"mapped_process_module_symbols\": {}, \"mapped_process_unwind_data_by_pid\": {},"
	             "\"path_key_to_path\": {}%s%s}",
	             more && strstr(more, "\"lost\"") ? "" : ", \"lost\": {}", more ? more : "") > 0);
	maker_finish(maker, metadata);
	free(metadata);
	maker_file(maker, "results/ExecutionTimestamps.msgpack", timestamps, sizeof(timestamps) - 1);
}

void maker_remove(struct maker *maker)
{
	char command[320];

	snprintf(command, sizeof(command), "rm -rf '%s'", maker->path);
	MUST(system(command) == 0);
}
