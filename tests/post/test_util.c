/* test_util.c: small things that everything stands on. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "support.h"
#include "util/cleanup.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/number_map.h"
#include "util/strings.h"
#include "util/utf8.h"

Test(util, number_map)
{
	struct number_map map = {0};
	struct random random = {.state = 1};
	const struct number_entry *entry;
	size_t at = 0, n = 0;

	cr_assert_eq(number_map_get(&map, 0), 0);
	cr_assert(!number_map_has(&map, 0));
	for (uint64_t i = 0; i < 10000; i++)
		*number_map_at(&map, i * i * i) = i + 1;
	for (uint64_t i = 0; i < 10000; i++) {
		cr_assert_eq(number_map_get(&map, i * i * i), i + 1);
		cr_assert_eq(number_map_get(&map, random_next(&random) | UINT64_C(1) << 63), 0);
	}
	cr_assert_eq(map.n, 10000);
	while ((entry = number_map_each(&map, &at))) {
		cr_assert_eq(entry->key, (entry->value - 1) * (entry->value - 1) * (entry->value - 1));
		n++;
	}
	cr_assert_eq(n, 10000);
	number_map_deinit(&map);
}

Test(util, strings)
{
	struct strings strings = {0};
	uint32_t number;
	char text[20];

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 5000; i++) {
			int n = snprintf(text, sizeof(text), "text %u", i);

			cr_assert_eq(strings_add(&strings, text, (size_t)n, &number), 0);
			cr_assert_eq(number, i);
		}
	cr_assert_eq(strings_add(&strings, "text 12345", 6, &number), 0);
	cr_assert_eq(number, 1); /* the first six bytes */
	cr_assert_eq(strings_add(&strings, "", 0, &number), 0);
	cr_assert_eq(number, 0);
	cr_assert_str_eq(strings_get(&strings, 0), "");
	cr_assert_str_eq(strings_get(&strings, 4999), "text 4999");
	strings_deinit(&strings);
}

Test(util, utf8)
{
	static const char *const pairs[][2] = {{"plain", "plain"}, {"\xc3\xa4", "\xc3\xa4"},
	        {"a\xff"
	         "b",
	                "a\xef\xbf\xbd"
	                "b"},
	        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"}, {"", ""}};
	char *clean;

	for (size_t i = 0; i < N_ELEMENTS(pairs); i++) {
		clean = utf8_clean(pairs[i][0], strlen(pairs[i][0]));
		cr_assert_str_eq(clean, pairs[i][1]);
		free(clean);
	}
	clean = utf8_clean("a\0b", 3);
	cr_assert_str_eq(clean, "a\xef\xbf\xbd"
	                        "b");
	free(clean);
}

Test(util, grow)
{
	uint64_t *array = NULL;
	size_t n_allocated = 0;

	cr_assert_eq(grow_array(&array, &n_allocated, 3, sizeof(array[0])), 0);
	cr_assert_geq(n_allocated, 3);
	cr_assert_eq(grow_array(&array, &n_allocated, SIZE_MAX / 4, sizeof(array[0])), -ENOMEM);
	cr_assert_eq(GROW_BY_ONE(array, n_allocated, n_allocated), 0);
	cr_assert_not_null(array);
	free(array);
}

/* New files only, never through a link, for the owner alone. */
Test(util, file_create)
{
	struct folder folder = folder_new();
	struct stat status;
	int fd;

	umask(0);
	fd = file_create(folder.fd, "x", geteuid(), getegid());
	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &status), 0);
	cr_assert_eq(status.st_mode & 0777, 0600);
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	cr_assert_eq(file_create(folder.fd, "x", geteuid(), getegid()), -EEXIST);
	cr_assert_eq(symlinkat("y", folder.fd, "link"), 0);
	cr_assert_eq(file_create(folder.fd, "link", geteuid(), getegid()), -EEXIST);
	folder_remove(&folder);
}

Test(util, file_read_whole)
{
	struct folder folder = folder_new();
	int fd = file_create(folder.fd, "x", geteuid(), getegid());
	CLEANUP_FREE char *text = NULL;
	size_t n;

	cr_assert_eq(file_write_all(fd, "12345", 5), 0);
	close(fd);
	cr_assert_eq(file_read_whole(folder.fd, "x", 5, &text, &n), 0);
	cr_assert_eq(n, 5);
	cr_assert_str_eq(text, "12345");
	cr_assert_eq(file_read_whole(folder.fd, "x", 4, &text, &n), -EFBIG);
	cr_assert_eq(file_read_whole(folder.fd, "y", 4, &text, &n), -ENOENT);
	cr_assert_eq(mkfifoat(folder.fd, "pipe", 0600), 0);
	cr_assert_eq(file_read_whole(folder.fd, "pipe", 4, &text, &n), -EINVAL);
	cr_assert_eq(file_read_whole(folder.fd, ".", 4, &text, &n), -EINVAL);
	folder_remove(&folder);
}

/* A write that failed in the middle is not forgotten at the end. */
Test(util, file_stream)
{
	struct rlimit limit = {.rlim_cur = 10000, .rlim_max = RLIM_INFINITY};
	int fd = temporary_file();
	FILE *file;

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	file = file_stream(fd);
	cr_assert_not_null(file);
	for (int i = 0; i < 5000; i++)
		fputs("text ", file);
	cr_assert_lt(file_stream_close(file), 0);
	cr_assert_eq(ftruncate(fd, 0), 0);
	rewind_fd(fd);
	file = file_stream(fd);
	fputs("text", file);
	cr_assert_eq(file_stream_close(file), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_END), 4);
	close(fd);
	cr_assert_null(file_stream(-1));
}
