/* files.c: classification of files. */
#include "track/files.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/functions.h"
#include "probe/internal.h"
#include "unwind/rules.h"
#include "util/cleanup.h"

struct file {
	struct stat st; /* at classification; all 0 where it could not be opened */
	uint64_t dev, ino;
	int fd;
	char *path;
	char *reason;
	struct descriptors links; /* of its probes */
	bool replaced; /* rewritten since: a later entry stands for the inode */
};

struct files {
	pthread_mutex_t lock;
	struct programs *programs;
	struct untraced *untraced;
	const struct log_sink *log;
	struct file *files;
	size_t n_files;
};

int files_new(struct programs *programs, struct untraced *untraced, const struct log_sink *log,
	struct files **ret_files)
{
	struct files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	pthread_mutex_init(&files->lock, NULL);
	files->programs = programs;
	files->untraced = untraced;
	files->log = log;
	*ret_files = files;
	return 0;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool same_content(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
		a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* The entry that stands for the inode, or NULL. */
static struct file *find_inode(struct files *files, const struct stat *st)
{
	for (size_t i = files->n_files; i-- > 0;)
		if (!files->files[i].replaced && files->files[i].fd >= 0 && same_inode(&files->files[i].st, st))
			return &files->files[i];
	return NULL;
}

/* Only the thread that classifies adds; the lock is for those who read meanwhile. */
static int append(struct files *files, const struct file *file)
{
	struct file *grown;

	pthread_mutex_lock(&files->lock);
	grown = reallocarray(files->files, files->n_files + 1, sizeof(*grown));
	if (grown) {
		files->files = grown;
		files->files[files->n_files++] = *file;
	}
	pthread_mutex_unlock(&files->lock);
	return grown ? 0 : -ENOMEM;
}

static int attach_functions(struct files *files, struct file *file, const struct found_functions *found,
	const struct rules *rules)
{
	CLEANUP_FREE struct internal_call *calls = NULL;
	CLEANUP_FREE struct probe *probes = NULL;
	size_t n_calls = 0, n = 0;
	int r = internal_calls_find(file->fd, found, rules, &calls, &n_calls);

	if (r)
		log_warning(files->log, "cannot look for internal calls of free in %s: %s", file->path, strerror(-r));
	probes = calloc(found->n_functions + n_calls, sizeof(*probes));
	if (!probes)
		return -ENOMEM;
	for (size_t i = 0; i < found->n_functions; i++) {
		const struct allocator_function *function = found->functions[i].function;
		bool is_free = allocator_function_is_free(function);

		/* A library that stands before the C library may hand a block on to it: still one call. */
		probes[n++] = (struct probe){
			.file_offset = found->functions[i].file_offset,
			.cookie = function->cookie | (is_free && !found->is_c_library ? COOKIE_FORWARDS_BIT : 0),
			.kind = is_free ? PROBE_FREE : PROBE_ALLOCATION,
		};
	}
	for (size_t i = 0; i < n_calls; i++)
		probes[n++] = (struct probe){calls[i].file_offset, calls[i].pushed, PROBE_INTERNAL};
	return programs_attach(files->programs, file->fd, probes, n, &file->links);
}

/* Why a program's allocations would not be seen although its file was read, or NULL. */
static const char *blind_spot(const struct found_functions *found, bool is_program)
{
	if (!is_program || !found->is_elf)
		return NULL;
	if (!found->is_64_bit)
		return "a program for another machine or 32-bit mode, whose system calls are not followed";
	if (found->is_static && !found->n_functions)
		return found->has_symbols ? "statically linked, and no allocator that is known is in it"
					  : "statically linked and stripped: its allocator has no symbols";
	return NULL;
}

/* Stacks through a file without rules are identified more coarsely; nothing is missing from them. */
static void read_rules(struct files *files, const struct file *file, struct rules *ret_rules)
{
	int r = rules_compile(file->fd, ret_rules);

	if (r && r != -EBADMSG) {
		log_warning(files->log, "cannot read the unwind data of %s: %s", file->path, strerror(-r));
		*ret_rules = (struct rules){};
		return;
	}
	if (r)
		log_warning(files->log, "the unwind data of %s is broken; what can be read of it is used", file->path);
	if (ret_rules->n_rows) {
		r = programs_add_rules(files->programs, file->dev, file->ino, ret_rules->rows, ret_rules->n_rows);
		if (r)
			log_warning(files->log, "cannot load the unwind rules of %s: %s", file->path, strerror(-r));
	}
	log_debug(files->log, "%zu unwind rules for %s, %zu unsupported", ret_rules->n_rows, file->path,
		ret_rules->n_unsupported);
}

static int classify(struct files *files, struct file *file, uint32_t pid, bool is_program)
{
	struct found_functions found;
	struct rules rules = {};
	const char *blind;
	int r = found_functions_read(file->fd, &found);

	if (r) {
		log_debug(files->log, "cannot read the symbols of %s: %s", file->path, strerror(-r));
		untraced_add(files->untraced, file->path, pid, "its symbols cannot be read");
		return 0;
	}
	blind = blind_spot(&found, is_program);
	if (blind)
		untraced_add(files->untraced, file->path, pid, blind);
	read_rules(files, file, &rules);
	if (found.n_functions) {
		r = attach_functions(files, file, &found, &rules);
		if (r)
			untraced_add(files->untraced, file->path, pid, "the kernel refused the probes");
		log_message(files->log, r ? LOG_LEVEL_WARNING : LOG_LEVEL_DEBUG, "%zu allocator functions in %s: %s",
			found.n_functions, file->path, r ? strerror(-r) : "probed");
	}
	found_functions_deinit(&found);
	rules_deinit(&rules);
	return 0;
}

static int add_new(struct files *files, int *fd, const struct stat *st, const char *path, uint32_t pid,
	bool is_program)
{
	struct file file = {.st = *st, .fd = *fd};
	int r = programs_identify_file(files->programs, file.fd, &file.dev, &file.ino);

	if (r) {
		untraced_add(files->untraced, path, pid, "the kernel does not say what file it is");
		return r;
	}
	file.path = strdup(path);
	if (!file.path)
		return -ENOMEM;
	r = classify(files, &file, pid, is_program);
	if (append(files, &file)) {
		descriptors_close(&file.links);
		free(file.path);
		return -ENOMEM;
	}
	*fd = -1;
	return r;
}

int files_add(struct files *files, int fd, const char *path, uint32_t pid, bool is_program)
{
	CLEANUP_CLOSE int owned = fd;
	struct file *known;
	struct stat st;
	int r = 0;

	if (fstat(owned, &st)) {
		r = -errno;
	} else {
		known = find_inode(files, &st);
		if (known && same_content(&known->st, &st))
			return 0;
		if (known) {
			/* The offsets of the old content mean nothing in the new one. */
			descriptors_close(&known->links);
			known->replaced = true;
		}
		r = add_new(files, &owned, &st, path, pid, is_program);
	}
	if (r)
		untraced_add(files->untraced, path, pid, "it could not be looked at in full");
	return r;
}

void files_add_unopened(struct files *files, const char *path, uint32_t pid, uint64_t dev, uint64_t ino, int error)
{
	struct file file = {.dev = dev, .ino = ino, .fd = -1};
	char reason[128];

	snprintf(reason, sizeof(reason), "it cannot be opened: %s", strerror(-error));
	untraced_add(files->untraced, path, pid, reason);
	for (size_t i = 0; i < files->n_files; i++)
		if (files->files[i].dev == dev && files->files[i].ino == ino)
			return;
	file.path = strdup(path);
	file.reason = strdup(strerror(-error));
	if (!file.path || !file.reason || append(files, &file)) {
		free(file.path);
		free(file.reason);
	}
}

int files_path(struct files *files, uint64_t dev, uint64_t ino, char *buffer, size_t size)
{
	int r = -ENOENT;

	pthread_mutex_lock(&files->lock);
	for (size_t i = files->n_files; i-- > 0;) {
		if (files->files[i].dev != dev || files->files[i].ino != ino)
			continue;
		strncpy(buffer, files->files[i].path, size - 1);
		buffer[size - 1] = '\0';
		r = 0;
		break;
	}
	pthread_mutex_unlock(&files->lock);
	return r;
}

size_t files_count(struct files *files)
{
	size_t n;

	pthread_mutex_lock(&files->lock);
	n = files->n_files;
	pthread_mutex_unlock(&files->lock);
	return n;
}

struct file_view files_get(struct files *files, size_t index)
{
	struct file_view view;

	pthread_mutex_lock(&files->lock);
	view = (struct file_view){
		.dev = files->files[index].dev,
		.ino = files->files[index].ino,
		.fd = files->files[index].fd,
		.path = files->files[index].path,
		.reason = files->files[index].reason,
	};
	pthread_mutex_unlock(&files->lock);
	return view;
}

void files_detach(struct files *files, struct descriptors *links)
{
	pthread_mutex_lock(&files->lock);
	for (size_t i = 0; i < files->n_files; i++)
		descriptors_move(links, &files->files[i].links);
	pthread_mutex_unlock(&files->lock);
}

struct files *files_free(struct files *files)
{
	if (!files)
		return NULL;
	for (size_t i = 0; i < files->n_files; i++) {
		descriptors_close(&files->files[i].links);
		if (files->files[i].fd >= 0)
			close(files->files[i].fd);
		free(files->files[i].path);
		free(files->files[i].reason);
	}
	free(files->files);
	pthread_mutex_destroy(&files->lock);
	free(files);
	return NULL;
}
