/* make_corpus.c FOLDER FIXTURES: seeds for the fuzz targets of post/, in a folder per target. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/encode.h"
#include "artifact/writer.h"
#include "module/inline_tables.h"
#include "module/symbols.h"
#include "module/unwind_data.h"
#include "profile/executions.h"
#include "util/cleanup.h"
#include "util/file.h"

static void fail(const char *what)
{
	fprintf(stderr, "make_corpus: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int make_seed(const char *folder, const char *name)
{
	char path[300];
	int fd;

	mkdir(folder, 0755);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		fail(path);
	return fd;
}

/* One event of each type, with numbers of several widths. */
static struct event sample_event(enum event_type type)
{
	static const uint64_t chain[] = {0x401000, 0x402000};
	struct event event = {
	        .type = type, .pid = 1234, .tid = 70000, .timestamp = 1000000000, .addr = 0x7f0000001000};

	event.size = 300;
	if (event_is_allocation(type))
		event.stack_hash = 0x123456789abcdef0;
	if (type == EVENT_REALLOC) {
		event.old_addr = 0x7f0000002000;
		event.entered = 999999999;
	}
	event.parent_pid = 1;
	event.shares_memory = true;
	event.mapping = (struct event_mapping){
	        .path = "/lib/x.so", .n_path = 9, .dev = 0xfe00000, .ino = 12, .len = 4096};
	event.stack = (struct event_stack){.hash = 0x123456789abcdef0,
	        .sp = 0x7ffc00000000,
	        .regs = {1, 2, 300, 70000},
	        .bytes = (const uint8_t *)"stack bytes",
	        .n_bytes = 11,
	        .fp_chain = chain,
	        .n_fp_chain = 2,
	        .truncated = true};
	return event;
}

static void make_reader_seeds(void)
{
	int whole = make_seed("reader", "whole");
	struct artifact_writer *writer;
	msgpack_sbuffer buffer;

	msgpack_sbuffer_init(&buffer);
	if (artifact_writer_new(whole, -1, &writer) < 0)
		fail("reader/whole");
	for (enum event_type type = 0; type < EVENT_N_TYPES; type++) {
		struct event event = sample_event(type);
		int fd = make_seed("reader", event_type_name(type));

		msgpack_sbuffer_clear(&buffer);
		if (event_encode(&buffer, &event) < 0 || artifact_writer_add(writer, &event) < 0 ||
		        file_write_all(fd, buffer.data, buffer.size) < 0)
			fail("reader");
		close(fd);
	}
	if (artifact_writer_finish(writer) < 0)
		fail("reader/whole");
	artifact_writer_free(writer);
	msgpack_sbuffer_destroy(&buffer);
	close(whole);
}

static void make_unwind_data_seeds(void)
{
	struct unwind_data data = {.path = "/lib/x.so",
	        .n_path = 9,
	        .eh_frame = (const uint8_t *)"frames",
	        .n_eh_frame = 6,
	        .eh_frame_start = 0x200,
	        .eh_frame_end = 0x206};
	int fd = make_seed("unwind_data", "without_header");

	if (unwind_data_write(fd, &data) < 0)
		fail("unwind_data");
	close(fd);
	data.has_eh_frame_hdr = true;
	data.eh_frame_hdr = (const uint8_t *)"header";
	data.n_eh_frame_hdr = 6;
	fd = make_seed("unwind_data", "with_header");
	if (unwind_data_write(fd, &data) < 0)
		fail("unwind_data");
	close(fd);
}

static void make_symbols_seeds(void)
{
	struct symbol items[] = {
	        {0x1000, 0x20, "main"}, {0x1000, 0x20, "alias"}, {0xffffffffff600000, 1, "a b"}};
	struct symbols symbols = {.items = items, .n = N_ELEMENTS(items)};
	int fd = make_seed("symbols", "three");

	if (symbols_write(fd, &symbols) < 0)
		fail("symbols");
	close(fd);
}

static void make_inlines_seeds(void)
{
	struct inline_scope scope = {.parent = INLINES_NO_SCOPE, .name = 1};
	struct inline_piece piece = {.start = 100, .end = 200};
	struct inline_row row = {.start = 100, .file = 2, .line = 7};
	struct inlines *inlines;
	uint32_t number;
	int fd = make_seed("inlines", "two"), r;

	r = inlines_new(&inlines);
	if (r >= 0)
		r = strings_add(&inlines->strings, "function", 8, &number);
	if (r >= 0)
		r = strings_add(&inlines->strings, "file.c", 6, &number);
	if (r >= 0)
		r = inlines_add_scope(inlines, &scope, &piece.scope);
	if (r >= 0)
		r = inlines_add_piece(inlines, &piece);
	scope = (struct inline_scope){.parent = 0, .name = 1, .call_file = 2, .call_line = 9};
	piece = (struct inline_piece){.start = 120, .end = 130, .depth = 1};
	if (r >= 0)
		r = inlines_add_scope(inlines, &scope, &piece.scope);
	if (r >= 0)
		r = inlines_add_piece(inlines, &piece);
	if (r >= 0)
		r = inlines_add_row(inlines, &row);
	if (r >= 0)
		r = inlines_finish(inlines);
	if (r >= 0)
		r = inlines_write(fd, inlines);
	if (r < 0) {
		errno = -r;
		fail("inlines");
	}
	inlines_free(inlines);
	close(fd);
}

static void make_benchmarks_seed(void)
{
	struct executions executions = {0};
	CLEANUP_CLOSE int folder = -1;
	int r = 0;

	mkdir("benchmarks", 0755);
	mkdir("benchmarks/results", 0755);
	unlink("benchmarks/" EXECUTIONS_NAME);
	folder = open("benchmarks", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; i < 3 && r >= 0; i++) {
		r = executions_mark(&executions, 100 * i + 10, EXECUTION_SAMPLE_START);
		if (r >= 0)
			r = executions_mark(&executions, 100 * i + 60, EXECUTION_SAMPLE_END);
		if (r >= 0)
			r = executions_name(&executions, 100 * i + 70, i < 2 ? "bench.py::test_a" : "b");
	}
	if (r >= 0)
		r = executions_write(&executions, folder, getuid(), getgid());
	if (r < 0) {
		errno = -r;
		fail("benchmarks");
	}
	executions_deinit(&executions);
}

/* Small modules of several kinds, out of the folder of fixtures. */
static void make_module_seeds(int fixtures)
{
	static const char *const names[] = {
	        "pie", "lld.so", "dwarf4", "pie.debug", "nosections-stripped", "compressed"};

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		CLEANUP_FREE char *bytes = NULL;
		size_t n;
		int r = file_read_whole(fixtures, names[i], 1 << 20, &bytes, &n), fd;

		if (r < 0) {
			errno = -r;
			fail(names[i]);
		}
		fd = make_seed("module", names[i]);
		if (file_write_all(fd, bytes, n) < 0)
			fail("module");
		close(fd);
	}
}

int main(int argc, char **argv)
{
	CLEANUP_CLOSE int fixtures = -1;

	if (argc != 3) {
		fprintf(stderr, "usage: make_corpus FOLDER FIXTURES\n");
		return 2;
	}
	fixtures = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fixtures < 0 || (mkdir(argv[1], 0755) < 0 && errno != EEXIST) || chdir(argv[1]) < 0)
		fail(argv[1]);
	make_reader_seeds();
	make_unwind_data_seeds();
	make_symbols_seeds();
	make_inlines_seeds();
	make_benchmarks_seed();
	make_module_seeds(fixtures);
	return 0;
}
