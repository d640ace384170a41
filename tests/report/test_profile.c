/* test_profile.c: profile folders: known truth, the independent checker's, and folders that are not whole. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <json.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maker.h"
#include "report/coverage.h"
#include "report/profile.h"
#include "report/rank.h"
#include "run.h"
#include "util/cleanup.h"

static struct string_pool *pool;

static void make_pool(void)
{
	cr_assert_eq(string_pool_new(&pool), 0);
}

static void free_pool(void)
{
	pool = string_pool_free(pool);
}

TestSuite(profile, .init = make_pool, .fini = free_pool);

static struct profile *loaded(const char *path, const char *benchmark)
{
	const struct profile_options options = {.fold = true, .benchmark = benchmark};
	struct profile *profile;

	cr_assert_eq(profile_load(path, &options, pool, &profile), 0);
	return profile;
}

/* The tally of the call path whose innermost function is `name`. */
static const struct heap_tally *find(const struct profile *profile, const char *name)
{
	for (uint32_t path = 0; path < stacks_n_paths(profile->stacks); path++) {
		const uint32_t *frames =
		        stacks_frames(profile->stacks, stacks_path(profile->stacks, path)->stack);

		if (strcmp(stacks_name(profile->stacks, stacks_frame(profile->stacks, frames[0])->key),
		            name) == 0)
			return &profile->path_tallies[path];
	}
	fprintf(stderr, "no call path %s\n", name);
	abort();
}

Test(profile, known_truth)
{
	struct maker maker = maker_new(NULL);
	struct profile *profile;
	struct coverage coverage;

	maker_malloc(&maker, 1, 10, 0x10, 100, 1); /* named before it is defined */
	maker_define_functions(&maker, 1, "a;main");
	maker_define_functions(&maker, 1, "other;main"); /* of two definitions the first counts */
	maker_define(&maker, 2, "2 0 7f00 /lib/x.so\nb\t\t\t\t\t/bin/program\t\t5\n");
	maker_malloc(&maker, 1, 20, 0x20, 30, 2);
	maker_malloc(&maker, 2, 30, 0x10, 7, 0);
	maker_malloc(&maker, 2, 40, 0x20, 5, 77);
	maker_free_block(&maker, 1, 50, 0x10);
	maker_finish_whole(&maker, NULL);
	profile = loaded(maker.path, NULL);
	cr_assert_eq(profile->n_problems, 0);
	cr_assert_eq(profile->sum.total_bytes, 142);
	cr_assert_eq(find(profile, "a")->peak_bytes, 100);
	cr_assert_eq(find(profile, "a")->n_leaked, 0);
	cr_assert_eq(find(profile, "b")->leaked_bytes, 30);
	cr_assert_eq(find(profile, "[no stack recorded]")->total_bytes, 7);
	cr_assert_eq(find(profile, "[stack named but never defined]")->total_bytes, 5);
	coverage_of(profile, &coverage);
	cr_assert_eq(coverage.n_allocations, 4);
	cr_assert_eq(coverage.n_whole, 1);
	cr_assert_eq(coverage.n_by_end[STACK_END_NO_MODULE], 1);
	cr_assert_eq(coverage.n_no_stack, 1);
	cr_assert_eq(coverage.n_undefined, 1);
	profile_free(profile);
	maker_remove(&maker);
}

Test(profile, where_stacks_stop_and_what_has_no_name)
{
	struct maker maker = maker_new(NULL);
	struct coverage_stop *stops;
	struct coverage_unnamed *unnamed;
	struct profile *profile;
	size_t n;

	maker_define(&maker, 1, "3 0 100 /lib/x.so\nb\t\t\t\t\t/bin/program\t\t5\n");
	maker_define(
	        &maker, 2, "3 1 200 /lib/x.so\nc\t\t\t\t\t/bin/program\t\t5\n\t\t\t\t\t/lib/y.so\t\t9\n");
	maker_define(&maker, 3, "0 0 0\n\t\t\t\t\t/lib/y.so\t\t8\n\t\t\t\t\t/lib/y.so\t\t9\n");
	maker_malloc(&maker, 1, 10, 0x10, 1, 1);
	maker_malloc(&maker, 1, 20, 0x20, 1, 2);
	maker_malloc(&maker, 1, 30, 0x30, 1, 2);
	maker_malloc(&maker, 1, 40, 0x40, 1, 3);
	maker_finish_whole(&maker, NULL);
	profile = loaded(maker.path, NULL);
	cr_assert_eq(coverage_stops(profile, &stops, &n), 0);
	cr_assert_eq(n, 1);
	cr_assert_eq(stops[0].n_allocations, 3);
	cr_assert_eq(stops[0].n_stacks, 2);
	cr_assert_eq(stops[0].end, STACK_END_NO_UNWIND);
	cr_assert_str_eq(string_pool_get(pool, stops[0].module), "/lib/x.so");
	cr_assert_eq(coverage_unnamed(profile, &unnamed, &n), 0);
	cr_assert_eq(n, 1);
	cr_assert_eq(unnamed[0].n_allocations, 3);
	cr_assert_eq(unnamed[0].n_frames, 2);
	cr_assert_str_eq(string_pool_get(pool, unnamed[0].module), "/lib/y.so");
	free(stops);
	free(unnamed);
	profile_free(profile);
	maker_remove(&maker);
}

/* A line that the stacks of a path do not share is not shown for it. */
Test(profile, lines_of_a_path)
{
	struct maker maker = maker_new(NULL);
	struct profile *profile;
	uint32_t line = 99, path;

	maker_define(&maker, 1, "0 0 0\nf\t\tf.c\t1\t\t/p\t\t5\nmain\t\tm.c\t7\t\t/p\t\t9\n");
	maker_define(&maker, 2, "0 0 0\nf\t\tf.c\t2\t\t/p\t\t6\nmain\t\tm.c\t7\t\t/p\t\t9\n");
	maker_malloc(&maker, 1, 10, 0x10, 1, 1);
	maker_malloc(&maker, 1, 20, 0x20, 1, 2);
	maker_finish_whole(&maker, NULL);
	profile = loaded(maker.path, NULL);
	path = (uint32_t)(find(profile, "f") - profile->path_tallies);
	cr_assert_eq(profile->path_tallies[path].n_total, 2);
	cr_assert_str_eq(rank_path_line(profile, path, 0, &line), "f.c");
	cr_assert_eq(line, 0);
	cr_assert_str_eq(rank_path_line(profile, path, 1, &line), "m.c");
	cr_assert_eq(line, 7);
	profile_free(profile);
	maker_remove(&maker);
}

static void write_timestamps(struct maker *maker)
{
	/* {"uri_by_ts": [[25, "a"], [45, "b"]], "markers": [Start 10, End 20, Start 30, End 40]} */
	static const char data[] = "\x82\xa9uri_by_ts\x92\x92\x19\xa1"
	                           "a\x92\x2d\xa1"
	                           "b\xa7markers\x94\x81\xabSampleStart\x0a\x81\xa9SampleEnd\x14"
	                           "\x81\xabSampleStart\x1e\x81\xa9SampleEnd\x28";

	maker_file(maker, "results/ExecutionTimestamps.msgpack", data, sizeof(data) - 1);
}

Test(profile, one_benchmark)
{
	const struct profile_options unknown = {.benchmark = "c"};
	struct maker maker = maker_new(NULL);
	struct profile *profile;

	maker_define_functions(&maker, 1, "a;main");
	maker_define_functions(&maker, 2, "b;main");
	maker_malloc(&maker, 1, 5, 0x10, 1000, 1);  /* before any benchmark */
	maker_malloc(&maker, 1, 10, 0x20, 100, 1);  /* in a */
	maker_malloc(&maker, 1, 20, 0x30, 5000, 1); /* behind a */
	maker_malloc(&maker, 1, 30, 0x40, 7, 2);    /* in b */
	maker_free_block(&maker, 1, 31, 0x20);
	maker_malloc(&maker, 1, 39, 0x20, 6, 1); /* in b */
	maker_free_block(&maker, 1, 60, 0x20);   /* after b: freed all the same */
	maker_finish_whole(&maker, NULL);
	write_timestamps(&maker);
	profile = loaded(maker.path, NULL);
	cr_assert_eq(profile->sum.total_bytes, 6113);
	cr_assert_eq(profile->benchmark_sums[0].total_bytes, 100);
	cr_assert_eq(profile->benchmark_sums[1].n_total, 2);
	cr_assert_eq(profile->benchmark_sums[1].total_bytes, 13);
	profile_free(profile);
	profile = loaded(maker.path, "b");
	cr_assert_eq(profile->sum.total_bytes, 13);
	cr_assert_eq(profile->sum.peak_bytes, 13);
	cr_assert_eq(profile->sum.leaked_bytes, 7);
	cr_assert_eq(find(profile, "a")->total_bytes, 6);
	cr_assert_eq(find(profile, "a")->n_leaked, 0);
	profile_free(profile);
	cr_assert_eq(profile_load(maker.path, &unknown, pool, &profile), -ENOKEY);
	maker_remove(&maker);
}

/* Random runs of several processes, in an order that is not quite that of time. */
static struct event random_event(uint64_t time, bool *exists)
{
	uint32_t pid = 1 + (uint32_t)rand() % 5;
	struct event event = {.pid = pid, .tid = pid * 10 + (uint32_t)rand() % 2, .timestamp = time};
	int dice = rand() % 100;

	if (!exists[pid]) {
		event.type = EVENT_FORK;
		event.parent_pid = 1;
		event.shares_memory = rand() % 3 == 0;
		exists[pid] = true;
	} else if (dice < 50) {
		event.type = (enum event_type)(rand() % 3);
		event.addr = 1 + (uint64_t)rand() % 60;
		event.size = (uint64_t)rand() % 1000;
		event.stack_hash = (uint64_t)rand() % 4;
	} else if (dice < 65) {
		event.type = EVENT_REALLOC;
		event.addr = 1 + (uint64_t)rand() % 60;
		event.old_addr = (uint64_t)rand() % 60;
		event.entered = event.old_addr ? time - (uint64_t)rand() % 40 : 0;
		event.size = (uint64_t)rand() % 1000;
		event.stack_hash = 1;
	} else if (dice < 96) {
		event.type = EVENT_FREE;
		event.addr = 1 + (uint64_t)rand() % 60;
	} else if (pid != 1) {
		event.type = rand() % 2 ? EVENT_EXIT : EVENT_EXEC;
		exists[pid] = event.type == EVENT_EXEC;
	} else {
		event.type = EVENT_BRK;
		event.size = 99;
	}
	return event;
}

#define N_HELD 16

static void add_random_events(struct maker *maker, uint64_t n)
{
	bool exists[6] = {[1] = true};
	struct event held[N_HELD];
	size_t place;

	for (uint64_t i = 0; i < n + N_HELD; i++) {
		place = i < N_HELD || i >= n ? i % N_HELD : (size_t)rand() % N_HELD;
		if (i >= N_HELD)
			maker_add(maker, &held[place]);
		held[place] = random_event(1000 + i * 10, exists);
	}
}

static uint64_t number(json_object *object, const char *key)
{
	json_object *value;

	cr_assert(json_object_object_get_ex(object, key, &value), "no %s", key);
	return json_object_get_uint64(value);
}

Test(profile, agrees_with_the_checker, .timeout = 200)
{
	const char *checker = getenv("PROFILE_CHECK");

	if (!checker || access(checker, R_OK) != 0)
		cr_skip_test("no profile_check.py");
	for (unsigned seed = 1; seed <= 12; seed++) {
		struct maker maker = maker_new(NULL);
		struct profile *profile;
		json_object *said;
		char *text;
		int status;

		srand(seed);
		for (uint64_t i = 1; i < 4; i++)
			maker_define_functions(&maker, i, i == 1 ? "a;main" : i == 2 ? "b;main" : "c;main");
		add_random_events(&maker, 4000);
		maker_finish_whole(&maker, NULL);
		text = run(&status, "/usr/bin/env python3 '%s' --json '%s'", checker, maker.path);
		said = json_tokener_parse(text);
		cr_assert(said, "%s", text);
		profile = loaded(maker.path, NULL);
		cr_assert_eq(profile->sum.n_total, number(said, "allocations"));
		cr_assert_eq(profile->sum.total_bytes, number(said, "bytes_allocated"));
		cr_assert_eq(profile->sum.peak_bytes, number(said, "peak_live"), "seed %u: %lu", seed,
		        profile->sum.peak_bytes);
		cr_assert_eq(profile->sum.live_bytes, number(said, "live_at_end"), "seed %u: %lu", seed,
		        profile->sum.live_bytes);
		cr_assert_eq(heap_paths_sums(profile->heap)->n_unseen_frees, number(said, "frees_of_unseen"));
		cr_assert_eq(heap_paths_totals(profile->heap)->peak_bytes, profile->sum.peak_bytes);
		profile_free(profile);
		json_object_put(said);
		free(text);
		maker_remove(&maker);
	}
}

static struct maker make_small(void)
{
	struct maker maker = maker_new(NULL);

	maker_define_functions(&maker, 1, "a;main");
	for (uint64_t i = 1; i < 40; i++)
		maker_malloc(&maker, 1, i * 10, i * 16, i, 1);
	return maker;
}

/* Cut at every byte: what was read is reported, and that it is not all. */
Test(profile, cut_short)
{
	struct maker maker = make_small();
	struct profile *profile;
	char name[400];
	uint64_t n_before = UINT64_MAX;
	struct stat info;

	maker_finish_whole(&maker, NULL);
	snprintf(name, sizeof(name), "%s/results/1.MemtrackArtifact.msgpack", maker.path);
	cr_assert_eq(stat(name, &info), 0);
	for (off_t size = info.st_size; size >= 0; size--) {
		cr_assert_eq(truncate(name, size), 0);
		profile = loaded(maker.path, NULL);
		cr_assert_leq(profile->n_events, n_before);
		n_before = profile->n_events;
		cr_assert_eq(profile->n_problems, size < info.st_size, "at %ld", (long)size);
		profile_free(profile);
	}
	maker_remove(&maker);
}

/* Every byte of the artifact and of the metadata changed to something else: no crash, no hang. */
Test(profile, damaged, .timeout = 200)
{
	static const char *const names[] = {"results/1.MemtrackArtifact.msgpack", "memory_metadata.json",
	        "results/ExecutionTimestamps.msgpack"};
	struct maker maker = make_small();
	struct profile *profile;
	char path[400], *data;
	struct stat info;
	int fd;

	maker_finish_whole(&maker, NULL);
	write_timestamps(&maker);
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", maker.path, names[i]);
		fd = open(path, O_RDWR);
		cr_assert_eq(fstat(fd, &info), 0);
		data = malloc((size_t)info.st_size);
		cr_assert_eq(pread(fd, data, (size_t)info.st_size, 0), info.st_size);
		for (off_t at = 0; at < info.st_size; at++) {
			for (unsigned bit = 0; bit < 8; bit += 3) {
				const char changed = (char)(data[at] ^ 1 << bit);

				cr_assert_eq(pwrite(fd, &changed, 1, at), 1);
				profile = loaded(maker.path, NULL);
				profile_free(profile);
			}
			cr_assert_eq(pwrite(fd, &data[at], 1, at), 1);
		}
		free(data);
		close(fd);
	}
	maker_remove(&maker);
}

/* Without metadata there are figures and no names; with losses there are both, and a warning. */
Test(profile, metadata_absent_broken_or_bad_news)
{
	static const char *const metadata[] = {NULL, "", "[1, 2]", "{\"version\":"};
	struct profile *profile;
	struct maker maker;

	for (size_t i = 0; i < N_ELEMENTS(metadata); i++) {
		maker = make_small();
		maker_finish(&maker, metadata[i]);
		profile = loaded(maker.path, NULL);
		cr_assert_eq(profile->n_problems, 1, "%zu", i);
		cr_assert_eq(profile->sum.total_bytes, 780);
		cr_assert_eq(find(profile, "[stack without usable metadata]")->total_bytes, 780);
		profile_free(profile);
		maker_remove(&maker);
	}
	maker = make_small();
	maker_finish_whole(&maker, ", \"lost\": {\"ring full\": 3, \"none\": 0, \"x\": \"y\"}, "
	                           "\"not_traced\": [{\"path\": \"/p\", \"pid\": 3, \"reason\": \"r\"}, 7], "
	                           "\"unreadable\": [{\"key\": \"0__x\", \"reason\": \"z\"}, {}]");
	profile = loaded(maker.path, NULL);
	cr_assert_eq(profile->n_problems, 1);
	cr_assert(strstr(profile->problems[0], "3 events were lost"));
	cr_assert_eq(profile->facts.n_lost, 1);
	cr_assert_eq(profile->facts.n_not_traced, 1);
	cr_assert_eq(profile->facts.n_unreadable, 1);
	cr_assert_str_eq(facts_process_name(&profile->facts, 2), "two");
	cr_assert_null(facts_process_name(&profile->facts, 10));
	profile_free(profile);
	maker_remove(&maker);
}

Test(profile, foreign_folders)
{
	const struct profile_options options = {0};
	char path[] = "/tmp/memstacks-test-XXXXXX", name[100];
	struct profile *profile;

	cr_assert(mkdtemp(path));
	cr_assert_eq(profile_load("/nonexistent", &options, pool, &profile), -ENOENT);
	cr_assert_eq(profile_load("/dev/null", &options, pool, &profile), -ENOTDIR);
	cr_assert_eq(profile_load(path, &options, pool, &profile), -ENODATA);
	snprintf(name, sizeof(name), "%s/results", path);
	cr_assert_eq(mkdir(name, 0700), 0);
	cr_assert_eq(profile_load(path, &options, pool, &profile), -ENODATA);
	snprintf(name, sizeof(name), "%s/results/1.MemtrackArtifact.msgpack", path);
	cr_assert_eq(mkfifo(name, 0600), 0); /* must not be waited for */
	cr_assert_eq(profile_load(path, &options, pool, &profile), -ENODATA);
	free(run_well("rm -r '%s'", path));
}

/* One whole empty frame: nothing happened, and that is a whole recording. */
Test(profile, no_events)
{
	struct maker maker = maker_new(NULL);
	struct profile *profile;

	maker_finish_whole(&maker, NULL);
	profile = loaded(maker.path, NULL);
	cr_assert_eq(profile->n_problems, 0);
	cr_assert_eq(profile->sum.n_total, 0);
	cr_assert_eq(profile->n_paths, 0);
	cr_assert_eq(profile->end - profile->begin, 0);
	profile_free(profile);
	maker_remove(&maker);
}

/* Of several artifacts the first by name is read, and the others are not kept quiet about. */
Test(profile, several_artifacts)
{
	struct maker maker = make_small(), other = maker_new(NULL);
	struct profile *profile;

	maker_finish_whole(&other, NULL);
	free(run_well("cp '%s/results/1.MemtrackArtifact.msgpack' '%s/results/0.MemtrackArtifact.msgpack'",
	        other.path, maker.path));
	maker_finish_whole(&maker, NULL);
	profile = loaded(maker.path, NULL);
	cr_assert_eq(profile->n_problems, 1);
	cr_assert(strstr(profile->problems[0], "2 artifacts; only results/0."));
	cr_assert_eq(profile->sum.n_total, 0);
	profile_free(profile);
	maker_remove(&maker);
	maker_remove(&other);
}

static int stop_at_once(void *context, const char *what, unsigned thousandths)
{
	(void)what;
	(void)thousandths;
	return --*(int *)context ? 0 : -ECANCELED;
}

Test(profile, stops_when_asked)
{
	struct maker maker = make_small();
	struct profile *profile;
	int n = 2; /* in the second pass */
	const struct profile_options options = {.progress = stop_at_once, .progress_context = &n};

	maker_finish_whole(&maker, NULL);
	cr_assert_eq(profile_load(maker.path, &options, pool, &profile), -ECANCELED);
	maker_remove(&maker);
}
