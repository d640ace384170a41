/* test_debug_file.c: the places where separate debug files are looked for. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "module/debug_file.h"
#include "module/dwarf_lines.h"
#include "util/cleanup.h"

/* A module in a folder of its own, and the folder of all debug files beside it. */
struct place {
	struct folder folder;
	struct module_elf module;
	int fd;
	char path[200];
	char debug_folder[200];
};

static void copy_fixture(const struct place *place, const char *name, const char *to)
{
	run("cd %s && mkdir -p \"$(dirname ./%sx)\" && cp %s ./%s", place->folder.path, to, fixture(name),
	        to);
}

static void make_place(struct place *place, const char *name)
{
	const char *reason;

	place->folder = folder_new();
	snprintf(place->path, sizeof(place->path), "%s/bin/%s", place->folder.path, name);
	snprintf(place->debug_folder, sizeof(place->debug_folder), "%s/debug", place->folder.path);
	copy_fixture(place, name, "bin/");
	place->fd = open(place->path, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(place->fd, 0);
	cr_assert_eq(module_elf_init(&place->module, place->fd, &reason), 0);
}

static void remove_place(struct place *place)
{
	module_elf_deinit(&place->module);
	close(place->fd);
	folder_remove(&place->folder);
}

static bool finds(const struct place *place)
{
	struct debug_file file = {.fd = -1};
	int r = debug_file_find(&place->module, place->path, place->debug_folder, &file);

	cr_assert(r == 0 || r == -ENOENT);
	cr_assert(r < 0 || dwarf_image_is_in(file.elf));
	debug_file_deinit(&file);
	debug_file_deinit(&file);
	return r == 0;
}

/* The debug file is put at `before`, or at `before`, the folder's own path, and `after`. */
static void by_link(const char *before, const char *after, bool expected)
{
	struct place place;
	char to[300];

	make_place(&place, "linked");
	cr_assert(!finds(&place));
	snprintf(to, sizeof(to), "%s%s%s", before, after ? place.folder.path : "", after ? after : "");
	copy_fixture(&place, "linked.debug", to);
	cr_assert_eq(finds(&place), expected, "%s", to);
	remove_place(&place);
}

Test(debug_file, by_link_beside)
{
	by_link("bin/linked.debug", NULL, true);
}

Test(debug_file, by_link_in_dot_debug)
{
	by_link("bin/.debug/linked.debug", NULL, true);
}

Test(debug_file, by_link_below_the_folder)
{
	by_link("debug", "/bin/linked.debug", true);
}

Test(debug_file, not_anywhere_else)
{
	by_link("linked.debug", NULL, false);
	by_link("debug/linked.debug", NULL, false);
}

/* A file of that name with another CRC is not it, whether it is longer or of the same length. */
Test(debug_file, wrong_crc)
{
	struct place place;

	make_place(&place, "linked");
	copy_fixture(&place, "linked.debug", "bin/");
	cr_assert(finds(&place));
	run("printf x | dd of=%s/bin/linked.debug bs=1 seek=3000 conv=notrunc status=none",
	        place.folder.path);
	cr_assert(!finds(&place));
	copy_fixture(&place, "linked.debug", "bin/");
	cr_assert(finds(&place));
	run("echo >> %s/bin/linked.debug", place.folder.path);
	cr_assert(!finds(&place));
	remove_place(&place);
}

/* A pipe of that name does not hold us up, and the module itself is not its debug file. */
Test(debug_file, odd_files)
{
	struct place place;
	char path[300];

	make_place(&place, "linked");
	snprintf(path, sizeof(path), "%s/bin/linked.debug", place.folder.path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert(!finds(&place));
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(link(place.path, path), 0);
	cr_assert(!finds(&place));
	remove_place(&place);
}

static void build_id_path(const struct place *place, char *ret_path, size_t n)
{
	int at = snprintf(ret_path, n, "debug/.build-id/%02x/", place->module.build_id[0]);

	for (size_t i = 1; i < place->module.n_build_id; i++)
		at += snprintf(ret_path + at, n - (size_t)at, "%02x", place->module.build_id[i]);
	snprintf(ret_path + at, n - (size_t)at, ".debug");
}

/* By build-id; a file with another build-id in that place is not it. */
Test(debug_file, by_build_id)
{
	struct place place;
	char path[300];

	make_place(&place, "stripped");
	cr_assert_eq(place.module.n_build_id, 20);
	cr_assert(!finds(&place));
	build_id_path(&place, path, sizeof(path));
	copy_fixture(&place, "pie.debug", path);
	cr_assert(finds(&place));
	copy_fixture(&place, "linked.debug", path);
	cr_assert(!finds(&place));
	run("echo text > %s/%s", place.folder.path, path);
	cr_assert(!finds(&place));
	remove_place(&place);
}

/* A path without a directory, and an absurdly long one. */
Test(debug_file, odd_paths)
{
	struct place place;
	struct debug_file file = {.fd = -1};
	CLEANUP_FREE char *path = malloc(100001);

	make_place(&place, "linked");
	memset(path, 'x', 100000);
	path[0] = '/';
	path[50000] = '/';
	path[100000] = '\0';
	cr_assert_eq(debug_file_find(&place.module, "linked", place.debug_folder, &file), -ENOENT);
	cr_assert_eq(debug_file_find(&place.module, path, place.debug_folder, &file), -ENOENT);
	cr_assert_eq(debug_file_find(&place.module, place.path, path, &file), -ENOENT);
	remove_place(&place);
}
