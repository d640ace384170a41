/* recording.c: running, watching the runner's memory, reading what came out. */
#include "bench/recording.h"

#include <dirent.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "artifact/reader.h"
#include "support/launch.h"
#include "support/memory.h"
#include "util/cleanup.h"

#define N_WORDS 48

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The most memory a process of the runner's program has had; 0 where it is another program. */
static uint64_t peak_of(const char *pid)
{
	CLEANUP_FREE char *path = test_text("/proc/%s/exe", pid);
	CLEANUP_FREE char *status = test_text("/proc/%s/status", pid);
	CLEANUP_FCLOSE FILE *file = fopen(status, "re");
	struct stat mine, its;
	char line[256];

	if (!file || stat(path, &its) || stat(getenv("MEMSTACKS_RUNNER"), &mine) ||
	        mine.st_ino != its.st_ino || mine.st_dev != its.st_dev)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "VmHWM:", 6) == 0)
			return strtoull(line + 6, NULL, 10) << 10;
	return 0;
}

/* All of them in the process group that was started. */
static uint64_t peak_of_group(pid_t group)
{
	CLEANUP_CLOSEDIR DIR *listing = opendir("/proc");
	uint64_t sum = 0;

	for (struct dirent *entry; listing && (entry = readdir(listing));) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && (getpgid(pid) == group || getsid(pid) == getsid(0)))
			sum += peak_of(entry->d_name);
	}
	return sum;
}

static int remove_profile(void)
{
	struct launch_result result;
	int r = launch_run(&(struct launch){.argv = (const char *const[]){"rm", "-rf", "--",
	                                            getenv("BENCH_PROFILE"), NULL}},
	        &result);

	if (r == 0)
		launch_result_deinit(&result);
	return r;
}

static size_t command_line(const char *const *argv, const char *const *options, const char **words)
{
	const char *const runner[] = {getenv("MEMSTACKS_RUNNER"), "--instrument", "memory",
	        "--no-integrations", "--quiet", "--profile-folder", getenv("BENCH_PROFILE")};
	size_t n = 0;

	for (size_t i = 0; options && i < N_ELEMENTS(runner); i++)
		words[n++] = runner[i];
	for (size_t i = 0; options && options[i] && n < N_WORDS - 1; i++)
		words[n++] = options[i];
	if (options)
		words[n++] = "--";
	for (size_t i = 0; argv[i] && n < N_WORDS - 1; i++)
		words[n++] = argv[i];
	words[n] = NULL;
	return n;
}

int recording_run(const char *const *argv, const char *const *options, struct recording *ret_recording)
{
	const char *words[N_WORDS];
	struct recording recording = {0};
	struct launch_result result;
	struct running running;

	command_line(argv, options, words);
	if (options && remove_profile() != 0)
		return -1;
	recording.started = now();
	if (launch_start(&(struct launch){.argv = words, .timeout = 280}, &running) < 0)
		return -1;
	while (!launch_has_ended(&running)) {
		uint64_t rss = options ? peak_of_group(running.pid) : 0;

		recording.rss = rss > recording.rss ? rss : recording.rss;
		usleep(options ? 20000 : 1000);
		recording.ended = now();
	}
	if (launch_finish(&running, &result) < 0)
		return -1;
	recording.ended = now();
	recording.wall = (double)(recording.ended - recording.started) * 1e-9;
	snprintf(recording.out, sizeof(recording.out), "%s", result.out);
	if (result.status != 0) {
		fprintf(stderr, "%s: status %d\n%s\n", words[0], result.status, result.err);
		launch_result_deinit(&result);
		return -1;
	}
	launch_result_deinit(&result);
	*ret_recording = recording;
	return 0;
}

static int open_artifact(uint64_t *ret_n_bytes)
{
	CLEANUP_FREE char *results = test_text("%s/results", getenv("BENCH_PROFILE"));
	CLEANUP_CLOSEDIR DIR *listing = opendir(results);
	struct stat status;

	for (struct dirent *entry; listing && (entry = readdir(listing));) {
		int fd = strstr(entry->d_name, ".MemtrackArtifact.msgpack")
		                 ? openat(dirfd(listing), entry->d_name, O_RDONLY | O_CLOEXEC)
		                 : -1;

		if (fd < 0)
			continue;
		*ret_n_bytes = fstat(fd, &status) == 0 ? (uint64_t)status.st_size : 0;
		return fd;
	}
	return -1;
}

static uint64_t read_lost(void)
{
	CLEANUP_FREE char *path = test_text("%s/summary.json", getenv("BENCH_PROFILE"));
	struct json_object *summary = json_object_from_file(path), *lost = NULL;
	uint64_t n = UINT64_MAX;

	if (summary && json_object_object_get_ex(summary, "lost", &lost))
		n = json_object_get_uint64(lost);
	json_object_put(summary);
	return n;
}

int recording_run_and_read(
        const char *const *argv, const char *const *options, struct recording *ret_recording)
{
	struct recording recording;
	struct artifact_reader *reader;
	struct event event;
	uint64_t first = 0;
	int fd;

	if (recording_run(argv, options, &recording) != 0)
		return -1;
	fd = open_artifact(&recording.n_bytes);
	if (fd < 0 || artifact_reader_new(fd, &reader) < 0)
		return -1;
	while (artifact_reader_next(reader, &event) == ARTIFACT_EVENT) {
		recording.n_events++;
		recording.n_calls += event_is_allocation(event.type) || event.type == EVENT_FREE;
		if (event.type == EVENT_EXEC)
			recording.exec_time = event.timestamp;
		if (event.type == EVENT_EXEC && !first)
			first = event.timestamp;
		if (event.type == EVENT_EXIT)
			recording.own = (double)(event.timestamp - first) * 1e-9;
	}
	artifact_reader_free(reader);
	close(fd);
	recording.n_lost = read_lost();
	*ret_recording = recording;
	return 0;
}
