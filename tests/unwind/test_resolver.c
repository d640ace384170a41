/* Proves that stacks are resolved by what the folder says of their own process and time, and that a folder
 * which is incomplete or wrong gives an error or fewer names, never wrong ones. */
#include "resolve/resolver.h"

#include <criterion/criterion.h>
#include <dwarf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi_builder.h"
#include "folder.h"
#include "module/inline_tables.h"
#include "module/unwind_data.h"
#include "util/cleanup.h"

#define STACK 0x7ffc0000

static struct folder folder;
static struct resolver *resolver;
static char messages[4096];

static void set_up(void)
{
	folder = folder_new();
	resolver = NULL;
	messages[0] = '\0';
}

static void tear_down(void)
{
	resolver_free(resolver);
	folder_remove(&folder);
}

TestSuite(resolver, .init = set_up, .fini = tear_down);

static void keep_message(void *context, unsigned level, const char *text)
{
	size_t n = strlen(messages);

	(void)context;
	snprintf(messages + n, sizeof(messages) - n, "%u %s\n", level, text);
}

static const struct log_sink sink = {.write = keep_message};

static int create(const char *name)
{
	int fd = openat(folder.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0, "%s", name);
	return fd;
}

static void put(const char *name, const char *text)
{
	CLEANUP_CLOSE int fd = create(name);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* A module of one description: all code from 0x1000 to 0x2000 has a frame of `frame` bytes and the return
 * address, code from 0x2000 to 0x3000 is where stacks begin. */
static void put_unwind_data(const char *name, uint64_t base_svma, uint8_t frame)
{
	static struct cfi_builder builder;
	const uint8_t program[] = {DW_CFA_def_cfa_offset, frame + 8};
	const uint8_t first[] = {DW_CFA_undefined, 16};
	struct unwind_data data = {.path = "x", .n_path = 1, .base_svma = base_svma};
	CLEANUP_CLOSE int fd = create(name);
	size_t cie;

	builder = (struct cfi_builder){.svma = base_svma + 0x40000};
	cie = cfi_put_cie(&builder, CFI_PCREL_SDATA4, cfi_usual_program, 5);
	cfi_put_fde(&builder, cie, base_svma + 0x1000, 0x1000, program, 2);
	cfi_put_fde(&builder, cie, base_svma + 0x2000, 0x1000, first, 2);
	data.eh_frame = builder.bytes;
	data.n_eh_frame = builder.n;
	data.eh_frame_start = builder.svma;
	data.eh_frame_end = builder.svma + builder.n;
	cr_assert_eq(unwind_data_write(fd, &data), 0);
}

/* Metadata of process 1, whose tables the test gives; quotes are written as '. */
__attribute__((format(printf, 1, 2))) static void put_metadata(const char *format, ...)
{
	CLEANUP_FREE char *text = NULL, *tables = NULL;
	va_list arguments;

	va_start(arguments, format);
	cr_assert_geq(vasprintf(&tables, format, arguments), 0);
	va_end(arguments);
	cr_assert_geq(
	        asprintf(&text, "{'version': 1, 'arch': 'x86_64'%s%s}", *tables ? ", " : "", tables), 0);
	for (char *quote = text; (quote = strchr(quote, '\'')) != NULL;)
		*quote = '"';
	put("memory_metadata.json", text);
}

static int open_resolver(void)
{
	return resolver_new(folder.fd, &sink, &resolver);
}

/* The stack of a call: the PC, then the words. */
static struct resolved_stack resolve(
        uint32_t pid, uint64_t time, uint64_t pc, const uint64_t *words, size_t n_words)
{
	struct event definition = {.type = EVENT_STACK_DEFINITION, .pid = pid, .timestamp = time};
	struct resolved_stack stack;

	definition.stack = (struct event_stack){
	        .hash = 1, .sp = STACK, .bytes = (const uint8_t *)words, .n_bytes = n_words * 8};
	definition.stack.regs[EVENT_REG_X86_RSP] = STACK;
	definition.stack.regs[EVENT_REG_X86_RIP] = pc;
	cr_assert_eq(resolver_resolve(resolver, &definition, &stack), 0);
	return stack;
}

static const char *or_none(const char *text)
{
	return text ? text : "-";
}

/* One word a frame: function@module, … */
static void expect_stack(struct resolved_stack stack, enum stack_end end, const char *expected)
{
	char text[2048] = "";
	size_t n = 0;

	for (size_t i = 0; i < stack.n_frames; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s@%s", i ? ", " : "",
		        or_none(stack.frames[i].function), or_none(stack.frames[i].module));
	cr_expect_str_eq(text, expected);
	cr_expect_eq(stack.end, end, "%s", stack_end_text(stack.end));
	cr_expect_eq(stack.stopped_at, stack.frames[stack.n_frames - 1].address);
	resolved_stack_deinit(&stack);
}

#define EXPECT(pid, time, pc, end, expected, ...)                                                            \
	do {                                                                                                 \
		const uint64_t words[] = {__VA_ARGS__};                                                      \
                                                                                                             \
		expect_stack(resolve(pid, time, pc, words, N_ELEMENTS(words)), end, expected);               \
	} while (0)

/* What a placement is written with: PLACE in the format, AT among the arguments. */
#define PLACE                                                                                                \
	"{'unwind_data_key': '%s', 'timestamp': %u, 'avma_range': {'start': %u, 'end': %u}, 'base_avma': "   \
	"%u}"
#define AT(key, time, base) key, time, (base) + 0x1000, (base) + 0x4000, base

static void put_library(void)
{
	put_unwind_data("0__a.so.unwind_data", 0, 0);
	put("0__a.so.symbols.map", "1000 100 malloc\n1100 100 _ZN3foo3barEv\n2000 100 main\n");
}

Test(resolver, names_and_modules)
{
	struct resolved_stack stack;

	put_library();
	put_metadata(
	        "'path_key_to_path': {'0__a.so': '/lib/a.so'}, 'build_ids': {'0__a.so': 'c0ffee'},"
	        "'ignored_modules_by_pid': {'1': [['/lib/a.so', %u, %u]]},"
	        "'debug_info': {'0__a.so': {'object_path': '/lib/a.so', 'addr_bounds': [0, 9999], "
	        "'load_bias': 0,"
	        " 'debug_infos': [{'addr': 4352, 'size': 256, 'name': 'x', 'file': 'bar.cc', 'line': 17},"
	        " {'addr': 8192, 'size': 256, 'name': 'x', 'file': 'main.cc', 'line': null}]}},"
	        "'mapped_process_unwind_data_by_pid': {'1': [" PLACE "]}",
	        0x101100, 0x101200, AT("0__a.so", 5, 0x100000));
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	EXPECT(1, 5, 0x101000, STACK_END_BASE, "malloc@/lib/a.so, foo::bar()@/lib/a.so, main@/lib/a.so",
	        0x101110, 0x102010);
	stack = resolve(1, 5, 0x101000, (const uint64_t[]){0x101310, 0x102010}, 2);
	cr_expect_null(stack.frames[1].function);
	cr_expect_eq(stack.frames[1].svma, 0x130f);
	cr_expect_eq(stack.frames[1].function_svma, 0x1000, "by the unwind data");
	resolved_stack_deinit(&stack);
	EXPECT(1, 5, 0x101000, STACK_END_BASE, "malloc@/lib/a.so, -@/lib/a.so, main@/lib/a.so", 0x101300,
	        0x102010);
	stack = resolve(1, 5, 0x101000, (const uint64_t[]){0x101110, 0x102010}, 2);
	cr_expect_str_eq(stack.frames[0].build_id, "c0ffee");
	cr_expect_str_eq(stack.frames[1].symbol, "_ZN3foo3barEv");
	cr_expect_str_eq(stack.frames[1].file, "bar.cc");
	cr_expect_eq(stack.frames[1].line, 17);
	cr_expect_eq(stack.frames[1].address, 0x10110f);
	cr_expect_eq(stack.frames[1].svma, 0x110f);
	cr_expect_eq(stack.frames[1].function_svma, 0x1100);
	cr_expect(stack.frames[1].ignored);
	cr_expect_not(stack.frames[0].ignored);
	cr_expect_not(stack.frames[1].inlined);
	cr_expect_str_eq(stack.frames[2].file, "main.cc");
	cr_expect_eq(stack.frames[2].line, 0);
	cr_expect_null(stack.frames[0].file);
	cr_expect_eq(stack.frames[0].module, stack.frames[2].module, "equal text has one address");
	resolved_stack_deinit(&stack);
	cr_expect_str_eq(messages, "");
}

/* Two libraries at one place, one after the other, and a process that is another. */
Test(resolver, placements_hold_at_their_time)
{
	put_library();
	put_unwind_data("1__b.so.unwind_data", 0x200000, 8);
	put("1__b.so.symbols.map", "201000 1000 calloc\n202000 1000 other_main\n");
	put_metadata("'path_key_to_path': {'0__a.so': '/a', '1__b.so': '/b'},"
	             "'mapped_process_unwind_data_by_pid': {'1': [" PLACE ", " PLACE "], '2': [" PLACE "]}",
	        AT("0__a.so", 100, 0x100000), AT("1__b.so", 200, 0x100000), AT("0__a.so", 300, 0x100000));
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	EXPECT(1, 99, 0x101000, STACK_END_NO_MODULE, "-@-, -@-", 0x102010);
	EXPECT(1, 100, 0x101000, STACK_END_BASE, "malloc@/a, main@/a", 0x102010);
	EXPECT(1, 199, 0x101000, STACK_END_BASE, "malloc@/a, main@/a", 0x102010);
	EXPECT(1, 200, 0x101000, STACK_END_BASE, "calloc@/b, other_main@/b", 0, 0x102010);
	EXPECT(2, 300, 0x101000, STACK_END_BASE, "malloc@/a, main@/a", 0x102010);
	EXPECT(2, 299, 0x101000, STACK_END_NO_MODULE, "-@-, -@-", 0x102010);
	EXPECT(3, 300, 0x101000, STACK_END_NO_MODULE, "-@-, -@-", 0x102010);
	EXPECT(1, 199, 0x101000, STACK_END_BASE, "malloc@/a, main@/a", 0x102010);
}

Test(resolver, exec_ends_an_image)
{
	put_library();
	put_metadata("'path_key_to_path': {'0__a.so': '/a'}, "
	             "'mapped_process_unwind_data_by_pid': {'1': [" PLACE ", " PLACE "]}",
	        AT("0__a.so", 100, 0x100000), AT("0__a.so", 250, 0x300000));
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	cr_assert_eq(resolver_end_image(resolver, 1, 400), 0);
	cr_assert_eq(resolver_end_image(resolver, 1, 200), 0);
	EXPECT(1, 199, 0x101000, STACK_END_BASE, "malloc@/a, main@/a", 0x102010);
	EXPECT(1, 300, 0x101000, STACK_END_BASE, "-@-, main@/a", 0x302010);
	EXPECT(1, 300, 0x301000, STACK_END_BASE, "malloc@/a, main@/a", 0x302010);
	EXPECT(1, 400, 0x301000, STACK_END_NO_MODULE, "-@-, -@-", 0x302010);
}

Test(resolver, module_with_symbols_only)
{
	put("0__s.so.symbols.map", "1000 100 malloc\n2000 100 work\n2100 10 _start\n");
	put_metadata("'path_key_to_path': {'0__s.so': '/s'}, 'mapped_process_module_symbols': {'1': ["
	             "{'perf_map_key': '0__s.so', 'load_bias': %u, 'timestamp': 10}]}",
	        0x100000);
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	EXPECT(1, 10, 0x101000, STACK_END_BASE, "malloc@/s, _start@/s", 0x102108);
	EXPECT(1, 10, 0x101000, STACK_END_NO_UNWIND, "malloc@/s, work@/s", 0x102008, 0, 0);
	EXPECT(1, 10, 0x101000, STACK_END_NO_MODULE, "malloc@/s, -@-", 0x102208);
	EXPECT(1, 9, 0x101000, STACK_END_NO_MODULE, "-@-, -@-", 0x102008);
}

Test(resolver, names_of_generated_code)
{
	put_library();
	put("perf-1.map", "900000 100 js::hot loop\n900100 10 stub\n");
	put_metadata("'path_key_to_path': {'0__a.so': '/a'}, "
	             "'mapped_process_unwind_data_by_pid': {'1': [" PLACE "], '2': [" PLACE "]}",
	        AT("0__a.so", 1, 0x100000), AT("0__a.so", 1, 0x100000));
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	EXPECT(1, 1, 0x101000, STACK_END_NO_MODULE, "malloc@/a, js::hot loop@-", 0x900050);
	EXPECT(1, 1, 0x101000, STACK_END_NO_MODULE, "malloc@/a, stub@-", 0x900101);
	EXPECT(2, 1, 0x101000, STACK_END_NO_MODULE, "malloc@/a, -@-", 0x900050);
}

/* The last symbol of a file reaches to a page's end and beyond; what is mapped there is not the module's. */
Test(resolver, generated_code_behind_a_module)
{
	put_library();
	put("0__a.so.symbols.map", "1000 100 malloc\n2000 100 main\n3f00 2100 last\n");
	put("perf-1.map", "104500 b py::function\n");
	put_metadata("'path_key_to_path': {'0__a.so': '/a'}, 'mapped_process_module_symbols': {'1': ["
	             "{'perf_map_key': '0__a.so', 'load_bias': %u, 'timestamp': 1}]}, "
	             "'mapped_process_unwind_data_by_pid': {'1': [" PLACE "]}",
	        0x100000, AT("0__a.so", 1, 0x100000));
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	EXPECT(1, 1, 0x101000, STACK_END_BASE, "malloc@/a, py::function@-, main@/a", 0x104506, 0, 0x102010);
}

static void put_inlines(void)
{
	const struct inline_scope outer = {.parent = INLINES_NO_SCOPE};
	struct inline_scope inner = {.call_line = 20};
	struct inlines *inlines;
	uint32_t outer_number, inner_number, file;
	CLEANUP_CLOSE int fd = create("0__a.so.inlines");

	cr_assert_eq(inlines_new(&inlines), 0);
	cr_assert_eq(strings_add(&inlines->strings, "_ZN3foo5innerEi", 15, &inner.name), 0);
	cr_assert_eq(strings_add(&inlines->strings, "/src/outer.cc", 13, &inner.call_file), 0);
	cr_assert_eq(strings_add(&inlines->strings, "/src/inner.h", 12, &file), 0);
	cr_assert_eq(inlines_add_scope(inlines, &outer, &outer_number), 0);
	inner.parent = outer_number;
	cr_assert_eq(inlines_add_scope(inlines, &inner, &inner_number), 0);
	cr_assert_eq(inlines_add_piece(inlines, &(struct inline_piece){0x1100, 0x1200, outer_number, 0}), 0);
	cr_assert_eq(inlines_add_piece(inlines, &(struct inline_piece){0x1110, 0x1120, inner_number, 1}), 0);
	cr_assert_eq(inlines_add_row(inlines, &(struct inline_row){0x1100, inner.call_file, 11}), 0);
	cr_assert_eq(inlines_add_row(inlines, &(struct inline_row){0x1110, file, 7}), 0);
	cr_assert_eq(inlines_add_row(inlines, &(struct inline_row){0x1120, inner.call_file, 12}), 0);
	cr_assert_eq(inlines_add_row(inlines, &(struct inline_row){0x1200, 0, 0}), 0);
	cr_assert_eq(inlines_finish(inlines), 0);
	cr_assert_eq(inlines_write(fd, inlines), 0);
	inlines_free(inlines);
}

static void expect_place(const struct frame *frame, bool inlined, const char *file, uint32_t line)
{
	cr_expect_eq(frame->inlined, inlined);
	cr_expect_str_eq(or_none(frame->file), file);
	cr_expect_eq(frame->line, line, "%u", frame->line);
	cr_expect_eq(frame->address, 0x101114);
}

/* The function that is really there has its name from the symbols: the same with debug info and without. */
Test(resolver, inlined_functions_are_expanded)
{
	struct resolved_stack stack;

	put_library();
	put_inlines();
	put_metadata("'path_key_to_path': {'0__a.so': '/a'}, "
	             "'mapped_process_unwind_data_by_pid': {'1': [" PLACE "]}",
	        AT("0__a.so", 1, 0x100000));
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	EXPECT(1, 1, 0x101000, STACK_END_BASE, "malloc@/a, foo::inner(int)@/a, foo::bar()@/a, main@/a",
	        0x101115, 0x102010);
	EXPECT(1, 1, 0x101000, STACK_END_BASE, "malloc@/a, foo::bar()@/a, main@/a", 0x101110, 0x102010);
	stack = resolve(1, 1, 0x101000, (const uint64_t[]){0x101115, 0x102010}, 2);
	expect_place(&stack.frames[1], true, "/src/inner.h", 7);
	expect_place(&stack.frames[2], false, "/src/outer.cc", 20);
	resolved_stack_deinit(&stack);
	cr_expect_str_eq(messages, "");
}

Test(resolver, depth_is_capped)
{
	const uint64_t words[] = {0x101110, 0x101110, 0x101110, 0x101110, 0x102010};

	put_library();
	put_metadata("'path_key_to_path': {'0__a.so': '/a'}, "
	             "'mapped_process_unwind_data_by_pid': {'1': [" PLACE "]}",
	        AT("0__a.so", 1, 0x100000));
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	resolver_set_max_depth(resolver, 3);
	expect_stack(resolve(1, 1, 0x101000, words, 5), STACK_END_DEPTH,
	        "malloc@/a, foo::bar()@/a, foo::bar()@/a");
	resolver_set_max_depth(resolver, 6);
	expect_stack(resolve(1, 1, 0x101000, words, 5), STACK_END_BASE,
	        "malloc@/a, foo::bar()@/a, foo::bar()@/a, foo::bar()@/a, foo::bar()@/a, main@/a");
}

static void expect_error(int error, const char *metadata)
{
	if (metadata)
		put("memory_metadata.json", metadata);
	messages[0] = '\0';
	cr_expect_eq(open_resolver(), error, "%s", metadata);
	cr_expect_eq(messages[0], '0', "%s: one error is said", metadata);
	cr_expect_null(resolver);
}

Test(resolver, metadata_that_cannot_be_used)
{
	expect_error(-ENOENT, NULL);
	expect_error(-EBADMSG, "");
	expect_error(-EBADMSG, "{\"version\": 1, \"arch\": \"x86_64\"");
	expect_error(-EBADMSG, "[]");
	expect_error(-EBADMSG, "{\"version\": 1}");
	expect_error(-EBADMSG, "{\"version\": \"1\", \"arch\": \"x86_64\"}");
	expect_error(-EPROTONOSUPPORT, "{\"version\": 2, \"arch\": \"x86_64\"}");
	expect_error(-EOPNOTSUPP, "{\"version\": 1, \"arch\": \"vax\"}");
}

/* What can be used is used; the rest is counted and said once. */
Test(resolver, entries_that_make_no_sense)
{
	put_library();
	put_metadata(
	        "'path_key_to_path': {'0__a.so': '/a', '../../etc/passwd': '/p', '': 'x', '1__b.so': 7},"
	        "'build_ids': {'0__a.so': [], 'nothing': 'aa'}, 'debug_info': {'0__a.so': 5},"
	        "'ignored_modules_by_pid': {'1': [5, ['x'], ['x', -1, 5]], 'x': [], '2': 3},"
	        "'mapped_process_module_symbols': [],"
	        "'mapped_process_unwind_data_by_pid': {'1': [3, {}, {'unwind_data_key': 'nothing'}, " PLACE
	        "],"
	        "'99999999999': [], '-1': [], '4': 'x'}",
	        AT("0__a.so", 1, 0x100000));
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	cr_expect_str_eq(messages, "1 18 entries of memory_metadata.json make no sense\n");
	EXPECT(1, 1, 0x101000, STACK_END_BASE, "malloc@/a, main@/a", 0x102010);
}

/* One warning for each file, and the stacks of the others are as before. */
Test(resolver, files_that_cannot_be_read)
{
	put_library();
	put("1__b.so.unwind_data", "this is no unwind data at all");
	put("2__c.so.inlines", "nor are these inlined functions");
	put_metadata("'path_key_to_path': {'0__a.so': '/a', '1__b.so': '/b', '2__c.so': '/c'},"
	             "'mapped_process_unwind_data_by_pid': {'1': [" PLACE ", " PLACE ", " PLACE "]}",
	        AT("0__a.so", 1, 0x100000), AT("1__b.so", 1, 0x200000), AT("2__c.so", 1, 0x300000));
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	EXPECT(1, 1, 0x101000, STACK_END_NO_UNWIND, "malloc@/a, -@/b", 0x201010, 0, 0);
	EXPECT(1, 1, 0x101000, STACK_END_NO_UNWIND, "malloc@/a, -@/b", 0x201018, 0, 0);
	EXPECT(1, 1, 0x101000, STACK_END_NO_UNWIND, "malloc@/a, -@/c", 0x301018, 0, 0);
	EXPECT(1, 1, 0x101000, STACK_END_BASE, "malloc@/a, main@/a", 0x102010);
	cr_expect_str_eq(messages, "1 cannot read the unwind data of /b: Bad message\n"
	                           "1 cannot read the inlined functions of /c: Bad message\n");
}

/* Without the unwind data only another table knows where the file was put: program files of fixed addresses
 * do not start at 0. */
Test(resolver, bias_of_unreadable_unwind_data)
{
	put("0__p.unwind_data", "broken");
	put("0__p.symbols.map", "401000 100 malloc\n402000 100 work\n");
	put_metadata("'path_key_to_path': {'0__p': '/p'},"
	             "'mapped_process_module_symbols': {'1': ["
	             "{'perf_map_key': '0__p', 'load_bias': 77, 'timestamp': 0},"
	             "{'perf_map_key': '0__p', 'load_bias': 0, 'timestamp': 1},"
	             "{'perf_map_key': '0__p', 'load_bias': 99, 'timestamp': 2}]},"
	             "'mapped_process_unwind_data_by_pid': {'1': [" PLACE "]}",
	        AT("0__p", 1, 0x400000));
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	EXPECT(1, 1, 0x401000, STACK_END_NO_UNWIND, "malloc@/p, work@/p", 0x402010, 0, 0);
}

/* A program that starts thousands of others. */
Test(resolver, many_processes, .timeout = 30)
{
	put_library();
	put_metadata("'path_key_to_path': {'0__a.so': '/a'}, "
	             "'mapped_process_unwind_data_by_pid': {'77': [" PLACE "]}",
	        AT("0__a.so", 1, 0x100000));
	cr_assert_eq(open_resolver(), 0, "%s", messages);
	for (uint32_t pid = 1; pid < 20000; pid++) {
		const uint64_t word = 0x102010;
		struct resolved_stack stack = resolve(pid, 1, 0x101000, &word, 1);

		cr_assert_eq(stack.end, pid == 77 ? STACK_END_BASE : STACK_END_NO_MODULE);
		resolved_stack_deinit(&stack);
	}
}
