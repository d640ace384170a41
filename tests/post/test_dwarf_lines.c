/* test_dwarf_lines.c: lines and inlined calls against addr2line, at every byte of the code. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "module/dwarf_lines.h"
#include "util/cleanup.h"
#include "util/file.h"

#define N_FRAMES 20

static struct inlines *collect(const char *name, const char *debug_name)
{
	struct module_elf module, debug;
	const char *reason = NULL;
	struct inlines *inlines;
	int fd = open_fixture(name), debug_fd = open_fixture(debug_name);

	cr_assert_eq(module_elf_init(&module, fd, &reason), 0);
	cr_assert_eq(module_elf_init(&debug, debug_fd, &reason), 0);
	cr_assert_eq(dwarf_lines_collect(debug.elf, &module, NULL, NULL, &inlines, &reason), 0, "%s: %s",
	        name, reason);
	module_elf_deinit(&module);
	module_elf_deinit(&debug);
	close(fd);
	close(debug_fd);
	return inlines;
}

/* The frames at an address as addr2line writes them, with base names: function and file:line, one after the
 * other. */
static void describe(const struct inlines *inlines, uint64_t svma, char *ret_text, size_t n)
{
	struct inline_frame frames[N_FRAMES];
	size_t n_frames = inlines_find(inlines, svma, frames, N_FRAMES), at = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < n_frames; i++) {
		const char *slash = frames[i].file ? strrchr(frames[i].file, '/') : NULL;

		cr_assert_eq(frames[i].inlined, i + 1 < n_frames);
		at += (size_t)snprintf(ret_text + at, n - at, "%s %s:%u\n",
		        frames[i].function ? frames[i].function : "??", slash ? slash + 1 : "??",
		        frames[i].line);
	}
}

/* Writes every address of the functions that sample.c defines into a file, a line each. */
static void list_addresses(const char *debug_name, const struct folder *folder)
{
	int status, n_read;
	CLEANUP_FREE char *text = shell(&status,
	        "nm -S --defined-only %s | awk '$4 ~ "
	        "/^(main|begins_with_inlined_code|hidden_function|cold_function|weak_function|resolve)$/ "
	        "{print $1, $2}'",
	        fixture(debug_name));
	CLEANUP_CLOSE int fd = file_create(folder->fd, "addresses", geteuid(), getegid());
	FILE *file = file_stream(fd);

	cr_assert_not_null(file);
	for (const char *at = text; *at; at += n_read) {
		unsigned long start, size;

		cr_assert_eq(sscanf(at, "%lx %lx\n%n", &start, &size, &n_read), 2, "%s", at);
		while (size-- > 0)
			fprintf(file, "0x%lx\n", start + size);
	}
	cr_assert_eq(file_stream_close(file), 0);
}

/* What addr2line says: per address a line "= address", then per frame "function file:line". */
static char *ask_addr2line(const char *debug_name)
{
	struct folder folder = folder_new();
	int status;
	char *text;

	list_addresses(debug_name, &folder);
	text = shell(&status,
	        "addr2line -aifse %s < %s/addresses | awk '/^0x/ {print \"= \" $1; next} "
	        "{name = $0; getline; sub(/ \\(.*/, \"\"); sub(/:\\?/, \":0\"); print name, $0} "
	        "END {print \"= 0\"}'",
	        fixture(debug_name), folder.path);
	folder_remove(&folder);
	return text;
}

static void compare(const char *name, const char *debug_name)
{
	struct inlines *inlines = collect(name, debug_name);
	CLEANUP_FREE char *text = ask_addr2line(debug_name);
	char mine[4000], theirs[4000] = "";
	unsigned n_addresses = 0, n_deep = 0;
	unsigned long svma = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (line[0] != '=') {
			snprintf(theirs + strlen(theirs), sizeof(theirs) - strlen(theirs), "%s\n", line);
			continue;
		}
		if (svma) {
			describe(inlines, svma, mine, sizeof(mine));
			cr_assert_str_eq(
			        mine, theirs, "%s at %lx:\n%s\nexpected\n%s", name, svma, mine, theirs);
			n_addresses++;
			n_deep += strchr(theirs, '\n') != strrchr(theirs, '\n');
		}
		svma = strtoul(line + 2, NULL, 16);
		theirs[0] = '\0';
	}
	cr_assert_gt(n_addresses, 200, "%s: %u addresses", name, n_addresses);
	cr_assert_gt(n_deep, 50);
	inlines_free(inlines);
}

Test(dwarf_lines, same_as_addr2line)
{
	static const char *const names[] = {"pie", "nopie", "shared.so", "lld", "lld.so", "lld-nopie",
	        "compressed", "dwarf4", "gc", "static"};

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		compare(names[i], names[i]);
}

Test(dwarf_lines, separate_file)
{
	compare("stripped", "pie.debug");
	compare("nosections-stripped", "pie.debug");
}

/* Inlined calls may be in a file of their own, which addr2line does not read. */
Test(dwarf_lines, split)
{
	struct inlines *inlines = collect("split", "split");
	int status;
	CLEANUP_FREE char *address = shell(
	        &status, "nm %s | awk '$3 == \"begins_with_inlined_code\" {print $1}'", fixture("split"));
	struct inline_frame frames[N_FRAMES];
	uint64_t start = strtoul(address, NULL, 16), svma = start;

	while (svma < start + 160 && inlines_find(inlines, svma, frames, N_FRAMES) < 3)
		svma++;
	cr_assert_lt(svma, start + 160);
	cr_assert_str_eq(frames[0].function, "innermost");
	cr_assert_str_eq(frames[1].function, "middle");
	cr_assert_str_eq(frames[2].function, "begins_with_inlined_code");
	cr_assert(frames[0].line < frames[1].line && frames[1].line < frames[2].line);
	inlines_free(inlines);
}

/* Where a function begins with inlined code, its line is one of its own, though the innermost frame is
 * elsewhere. */
Test(dwarf_lines, outermost_line)
{
	struct inlines *inlines = collect("pie", "pie");
	int status;
	CLEANUP_FREE char *address =
	        shell(&status, "nm %s | awk '$3 == \"begins_with_inlined_code\" {print $1}'", fixture("pie"));
	uint64_t start = strtoul(address, NULL, 16);
	const char *file;
	uint32_t line;

	cr_assert(start);
	for (uint64_t svma = start; svma < start + 16; svma++) {
		struct inline_frame frames[N_FRAMES];
		size_t n = inlines_find(inlines, svma, frames, N_FRAMES);

		cr_assert_gt(n, 0);
		cr_assert(inlines_find_outermost(inlines, svma, &file, &line));
		cr_assert_str_eq(file, frames[n - 1].file);
		cr_assert_eq(line, frames[n - 1].line);
		cr_assert_str_eq(frames[n - 1].function, "begins_with_inlined_code");
	}
	inlines_free(inlines);
}

Test(dwarf_lines, none)
{
	struct module_elf module;
	const char *reason = NULL;
	struct inlines *inlines;
	int fd = open_fixture("none");

	cr_assert_eq(module_elf_init(&module, fd, &reason), 0);
	cr_assert(!dwarf_lines_are_in(module.elf));
	cr_assert_eq(dwarf_lines_collect(module.elf, &module, NULL, NULL, &inlines, &reason), -ENOENT);
	cr_assert_not_null(reason);
	module_elf_deinit(&module);
	close(fd);
}

static bool interrupted(void *context)
{
	return ++*(int *)context > 0;
}

Test(dwarf_lines, interrupted)
{
	struct module_elf module;
	const char *reason = NULL;
	struct inlines *inlines;
	int fd = open_fixture("pie"), n_asked = 0;

	cr_assert_eq(module_elf_init(&module, fd, &reason), 0);
	cr_assert_eq(
	        dwarf_lines_collect(module.elf, &module, interrupted, &n_asked, &inlines, &reason), -EINTR);
	cr_assert_eq(n_asked, 1);
	module_elf_deinit(&module);
	close(fd);
}
