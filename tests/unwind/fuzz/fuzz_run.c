/* Makes a corpus out of real files in a folder of its own and runs a fuzz target on it.
 *
 * Usage: fuzz_run unwind|metadata FUZZER SECONDS ELF-FILE...
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "module/ehframe.h"
#include "module/elf.h"
#include "module/unwind_data.h"
#include "util/cleanup.h"
#include "util/file.h"

/* Larger sections are cut: the fuzzer prefers short inputs. */
#define MAX_EH_FRAME 1024

static int create(const char *folder, const char *kind, unsigned n)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s-%u", folder, kind, n);
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

/* What fuzz_unwind.c reads: the file, a stack, and the file's length. */
static int write_unwind(const char *folder, unsigned n, const char *path)
{
	CLEANUP_CLOSE int in = open(path, O_RDONLY | O_CLOEXEC), out = create(folder, "unwind", n);
	struct unwind_data data = {.path = path, .n_path = strlen(path)};
	struct module_elf module;
	const char *reason;
	uint8_t stack[96];
	off_t length;
	int r;

	if (in < 0 || out < 0)
		return -errno;
	r = module_elf_init(&module, in, &reason);
	if (r < 0)
		return r;
	r = ehframe_find(&module, &data, &reason);
	if (r == 0) {
		void *memory = data.memory;

		data.path = "x";
		data.n_path = 1;
		data.has_eh_frame_hdr = false;
		if (data.n_eh_frame > MAX_EH_FRAME)
			data.n_eh_frame = MAX_EH_FRAME;
		r = unwind_data_write(out, &data);
		data.memory = memory;
		unwind_data_deinit(&data);
	}
	module_elf_deinit(&module);
	length = lseek(out, 0, SEEK_CUR);
	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = (uint8_t)(i * 37 + n);
	if (r == 0)
		r = file_write_all(out, stack, sizeof(stack));
	stack[0] = (uint8_t)length;
	stack[1] = (uint8_t)(length >> 8);
	return r == 0 ? file_write_all(out, stack, 2) : r;
}

static int write_metadata(const char *folder, unsigned n, const char *path)
{
	CLEANUP_CLOSE int out = create(folder, "metadata", n);
	char text[2048];
	int length = snprintf(text, sizeof(text),
	        "{\"version\": 1, \"arch\": \"%s\", \"integration\": [\"\", \"\"], \"process_names\": "
	        "{\"%u\": \"%s\"},"
	        "\"path_key_to_path\": {\"0__a\": \"%s\"}, \"build_ids\": {\"0__a\": \"00ff\"},"
	        "\"mapped_process_module_symbols\": {\"%u\": [{\"perf_map_key\": \"0__a\", \"load_bias\": "
	        "4096, "
	        "\"timestamp\": 7}]},"
	        "\"mapped_process_unwind_data_by_pid\": {\"%u\": [{\"unwind_data_key\": \"0__a\", "
	        "\"timestamp\": 7, "
	        "\"avma_range\": {\"start\": 8192, \"end\": 18446744073709551615}, \"base_avma\": 4096}]},"
	        "\"debug_info\": {\"0__a\": {\"object_path\": \"a\", \"addr_bounds\": [0, 4096], "
	        "\"load_bias\": 0, "
	        "\"debug_infos\": [{\"addr\": 1, \"size\": 2, \"name\": \"f\", \"file\": \"f.c\", \"line\": "
	        "null}]}},"
	        "\"ignored_modules_by_pid\": {\"%u\": [[\"a\", 1, 2]]}, \"lost\": {}}",
	        n % 2 ? "aarch64" : "x86_64", n, path, path, n, n, n);

	return out < 0 ? -errno : file_write_all(out, text, (size_t)length);
}

static int run(char *fuzzer, const char *seconds, char *folder)
{
	char time[64];
	char *argv[] = {fuzzer, time, "-rss_limit_mb=2048", "-timeout=10", "-max_len=8192",
	        "-print_final_stats=1", folder, NULL};
	int status;
	pid_t pid;

	snprintf(time, sizeof(time), "-max_total_time=%s", seconds);
	pid = fork();
	if (pid == 0) {
		execv(fuzzer, argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	/* Never its own number: libFuzzer ends with 77 after a finding, and 77 is a skipped test. */
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

static void remove_folder(const char *path)
{
	CLEANUP_CLOSEDIR DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)) != NULL)
		unlinkat(dirfd(folder), entry->d_name, 0);
	rmdir(path);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/fuzz-XXXXXX";
	int status = 1;

	if (argc < 5 || !mkdtemp(folder))
		return 1;
	for (int i = 4; i < argc; i++) {
		int r = strcmp(argv[1], "unwind") == 0 ? write_unwind(folder, (unsigned)i, argv[i])
		                                       : write_metadata(folder, (unsigned)i, argv[i]);

		if (r < 0) {
			fprintf(stderr, "no input out of %s: %s\n", argv[i], strerror(-r));
			goto out;
		}
	}
	status = run(argv[2], argv[3], folder);
out:
	remove_folder(folder);
	return status;
}
