/* test_dwarf_lines.c: lines and inlined calls against addr2line, at every byte of the code. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "module/dwarf_lines.h"
#include "util/cleanup.h"
#include "util/file.h"

#define N_FRAMES 20

static int collect_with(const char *name, const char *debug_name, bool (*interrupted)(void *context),
        void *context, struct inlines **ret_inlines)
{
	struct module_elf module;
	struct dwarf_image image;
	const char *reason = NULL;
	int fd = open_fixture(name), debug_fd = open_fixture(debug_name), r;

	cr_assert_eq(module_elf_init(&module, fd, &reason), 0);
	r = dwarf_image_init(&image, debug_fd, "/nowhere", &reason);
	if (r >= 0) {
		r = dwarf_lines_collect(&image, &module, interrupted, context, ret_inlines, &reason);
		dwarf_image_deinit(&image);
	}
	cr_assert_not_null(reason);
	module_elf_deinit(&module);
	close(fd);
	close(debug_fd);
	return r;
}

static struct inlines *collect(const char *name, const char *debug_name)
{
	struct inlines *inlines = NULL;

	cr_assert_eq(collect_with(name, debug_name, NULL, NULL, &inlines), 0, "%s", name);
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

/* Somewhere in begins_with_inlined_code there is a call inlined into an inlined one. For files that addr2line
 * does not read right. */
static void check_nest(const char *name)
{
	struct inlines *inlines = collect(name, name);
	int status;
	CLEANUP_FREE char *address =
	        shell(&status, "nm %s | awk '$3 == \"begins_with_inlined_code\" {print $1}'", fixture(name));
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

/* In C++ a type may hold functions with code. */
Test(dwarf_lines, function_in_a_type)
{
	struct inlines *inlines = collect("cxx", "cxx");
	int status;
	CLEANUP_FREE char *address = shell(&status, "nm %s | awk '/member/ {print $1}'", fixture("cxx"));
	struct inline_frame frame;

	cr_assert_eq(inlines_find(inlines, strtoul(address, NULL, 16), &frame, 1), 1);
	cr_assert_not_null(frame.function);
	cr_assert_not_null(strstr(frame.function, "member"), "%s", frame.function);
	inlines_free(inlines);
}

/* Inlined calls may be in a file of their own, */
Test(dwarf_lines, split)
{
	check_nest("split");
}

/* or dwz may have moved names into a file that several programs share, which is found beside them. */
Test(dwarf_lines, common_file)
{
	check_nest("dwz");
}

/* It is found by its build-id as well. Without it, or with another file in its place, there are still lines.
 */
Test(dwarf_lines, common_file_elsewhere)
{
	static const char *const steps[] = {"true",
	        "id=$(readelf -n common | awk '/Build ID/ {print $3}') && rest=${id#??} && first=${id%$rest} "
	        "&& "
	        "mkdir -p .build-id/$first && mv common .build-id/$first/$rest.debug",
	        "cp dwz .build-id/*/*.debug", "cp dwz dwz-common"};
	struct folder folder = folder_new();
	CLEANUP_FREE char *path = strdup(fixture("dwz"));
	int fd;

	run("cp %s %s/dwz && cp %s %s/common", path, folder.path, fixture("dwz-common"), folder.path);
	fd = openat(folder.fd, "dwz", O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
		struct dwarf_image image;
		const char *reason;

		run("cd %s && %s", folder.path, steps[i]);
		cr_assert_eq(dwarf_image_init(&image, fd, folder.path, &reason), 0);
		cr_assert_eq(image.alternative != NULL, i == 1, "step %zu", i);
		dwarf_image_deinit(&image);
	}
	close(fd);
	folder_remove(&folder);
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
	struct inlines *inlines;

	cr_assert_eq(collect_with("none", "none", NULL, NULL, &inlines), -ENOENT);
	cr_assert_eq(collect_with("none", "made", NULL, NULL, &inlines), -EBADMSG);
}

static bool interrupted(void *context)
{
	return ++*(int *)context > 0;
}

Test(dwarf_lines, interrupted)
{
	struct inlines *inlines;
	int n_asked = 0;

	cr_assert_eq(collect_with("pie", "pie", interrupted, &n_asked, &inlines), -EINTR);
	cr_assert_eq(n_asked, 1);
}
