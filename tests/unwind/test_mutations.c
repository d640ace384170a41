/* Proves that damaged files of a profile never do harm: each of thousands of folders with random damage is
 * either refused or resolved, in bounded time. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "resolve/resolver.h"
#include "samples.h"
#include "util/cleanup.h"
#include "util/file.h"

#define MAX_FILES 64
#define MAX_BYTES ((size_t)64 << 20)

struct file {
	char name[256];
	char *bytes;
	size_t n;
};

struct files {
	struct file files[MAX_FILES];
	size_t n;
};

static size_t below(size_t n)
{
	return n > 0 ? (size_t)random() % n : 0;
}

static void read_files(const struct folder *folder, struct files *files)
{
	CLEANUP_CLOSEDIR DIR *directory = opendir(folder->path);
	struct dirent *entry;

	cr_assert_not_null(directory);
	while ((entry = readdir(directory)) != NULL) {
		struct file *file = &files->files[files->n];

		if (entry->d_type != DT_REG)
			continue;
		cr_assert_lt(files->n, MAX_FILES);
		snprintf(file->name, sizeof(file->name), "%.255s", entry->d_name);
		cr_assert_eq(file_read_whole(folder->fd, file->name, MAX_BYTES, &file->bytes, &file->n), 0);
		files->n++;
	}
}

static void write_file(const struct folder *folder, const char *name, const char *bytes, size_t n)
{
	CLEANUP_CLOSE int fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(file_write_all(fd, bytes, n), 0);
}

/* One kind of damage; returns the new length, never a larger one. */
static size_t damage(char *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef-\"{}[],: \n";
	size_t at = below(n), length = below(n - at < 64 ? n - at : 64);

	switch (random() % 7) {
	case 0:
		return at;
	case 1:
		memset(bytes + at, random() % 2 ? 0xff : 0, length);
		return n;
	case 2:
		memmove(bytes + below(n - length), bytes + at, length);
		return n;
	case 3:
		memmove(bytes + at, bytes + at + length, n - at - length);
		return n - length;
	case 4:
		bytes[at] = digits[below(sizeof(digits) - 1)];
		return n;
	default:
		for (size_t i = 0; i <= length / 8; i++)
			bytes[below(n)] ^= (char)(1 << random() % 8);
		return n;
	}
}

/* Stacks are damaged too. */
static void resolve_all(struct resolver *resolver, const struct samples *samples)
{
	for (size_t i = 0; i < samples->n_samples; i++) {
		struct event definition = samples->samples[i].definition;
		CLEANUP_FREE uint8_t *bytes = malloc(definition.stack.n_bytes + 1);
		struct resolved_stack stack;

		memcpy(bytes, definition.stack.bytes, definition.stack.n_bytes);
		definition.stack.bytes = bytes;
		if (i % 2 == 0 && definition.stack.n_bytes > 0)
			definition.stack.n_bytes = damage((char *)bytes, definition.stack.n_bytes);
		if (random() % 8 == 0)
			definition.stack.regs[below(EVENT_N_REGS)] = (uint64_t)random() << (random() % 33);
		cr_assert_eq(resolver_resolve(resolver, &definition, &stack), 0);
		cr_assert_geq(stack.n_frames, 1);
		cr_assert_lt(stack.end, STACK_END_N);
		resolved_stack_deinit(&stack);
	}
}

static void run_case(const char *program, size_t n_rounds)
{
	struct folder scratch = folder_new(), profile = folder_new();
	struct files files = {0};
	const char *settings[] = {"SAMPLES_MAX=20", NULL}, *argv[] = {NULL, NULL};
	struct samples samples;
	size_t n_refused = 0;
	char path[512];

	snprintf(path, sizeof(path), "%s/stack-%s", getenv("STACK_FIXTURES"), program);
	argv[0] = path;
	samples_take(argv, settings, scratch.path, &samples);
	samples_write_profile(&samples, profile.fd, NULL);
	read_files(&profile, &files);
	srandom(11);
	for (size_t i = 0; i < n_rounds; i++) {
		struct file *file = &files.files[below(files.n)];
		CLEANUP_FREE char *bytes = malloc(file->n + 1);
		struct resolver *resolver;
		size_t n = file->n;

		memcpy(bytes, file->bytes, n);
		for (size_t j = 1 + below(3); j > 0 && n > 0; j--)
			n = damage(bytes, n);
		write_file(&profile, file->name, bytes, n);
		if (resolver_new(profile.fd, NULL, &resolver) == 0) {
			resolve_all(resolver, &samples);
			resolver_free(resolver);
		} else {
			n_refused++;
		}
		write_file(&profile, file->name, file->bytes, file->n);
	}
	cr_log_info("%s: %zu files, %zu of %zu folders refused", program, files.n, n_refused, n_rounds);
	cr_expect_gt(n_refused, 0);
	cr_expect_lt(n_refused, n_rounds);
	for (size_t i = 0; i < files.n; i++)
		free(files.files[i].bytes);
	samples_deinit(&samples);
	folder_remove(&scratch);
	folder_remove(&profile);
}

Test(mutations, small, .timeout = 280)
{
	run_case("recursion-musl-static", 3000);
}

Test(mutations, with_libraries, .timeout = 280)
{
	run_case("odd-frames", 200);
}
