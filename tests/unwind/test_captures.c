/* Proves that recordings of real programs, taken by the runner, can be unwound from the allocator to the
 * first frame of the process or thread: at least 99 of 100 allocations. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/reader.h"
#include "folder.h"
#include "resolve/resolver.h"
#include "support/machine.h"
#include "util/cleanup.h"
#include "util/number_map.h"

struct tally {
	struct number_map ends; /* hash: 1 + enum stack_end */
	uint64_t n_stacks;
	uint64_t n_frames;
	uint64_t n_allocations;
	uint64_t n_whole;
	uint64_t n_by_end[STACK_END_N];
};

/* Definitions may stand behind the events that name them. */
static void read_artifact(
        struct resolver *resolver, int results_fd, const char *name, bool definitions, struct tally *tally)
{
	CLEANUP_CLOSE int fd = openat(results_fd, name, O_RDONLY | O_CLOEXEC);
	struct artifact_reader *reader;
	struct event event;
	int state;

	cr_assert_geq(fd, 0);
	cr_assert_eq(artifact_reader_new(fd, &reader), 0);
	while ((state = artifact_reader_next(reader, &event)) == ARTIFACT_EVENT) {
		if (definitions && event.type == EVENT_STACK_DEFINITION) {
			struct resolved_stack stack;

			cr_assert_eq(resolver_resolve(resolver, &event, &stack), 0);
			*number_map_at(&tally->ends, event.stack.hash) = 1 + (uint64_t)stack.end;
			tally->n_stacks++;
			tally->n_frames += stack.n_frames;
			resolved_stack_deinit(&stack);
		} else if (!definitions && event_is_allocation(event.type)) {
			uint64_t end = number_map_get(&tally->ends, event.stack_hash);

			tally->n_allocations++;
			tally->n_whole += end == 1 + STACK_END_BASE;
			if (end > 0)
				tally->n_by_end[end - 1]++;
		}
	}
	cr_assert_eq(state, ARTIFACT_END);
	artifact_reader_free(reader);
}

static void tally_profile(const struct folder *folder, struct tally *tally)
{
	CLEANUP_CLOSE int results_fd = openat(folder->fd, "results", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct resolver *resolver;
	int status;
	char *name = shell(&status, "cd '%s/results' && ls *.MemtrackArtifact.msgpack", folder->path);

	name[strcspn(name, "\n")] = '\0';
	cr_assert_eq(resolver_new(folder->fd, NULL, &resolver), 0);
	read_artifact(resolver, results_fd, name, true, tally);
	read_artifact(resolver, results_fd, name, false, tally);
	resolver_free(resolver);
	number_map_deinit(&tally->ends);
	free(name);
}

/* `command` is for a shell. */
static void run_case(const char *program, const char *command)
{
	const char *reason = machine_why_no_capture();
	struct tally tally = {0};
	struct folder folder;
	char *output;
	int status;

	if (reason)
		cr_skip_test("%s", reason);
	if (access(program, X_OK) != 0)
		cr_skip_test("%s is not installed", program);
	folder = folder_new();
	output = shell(&status,
	        "'%s' --instrument memory --experimental-stacks --quiet --profile-folder '%s' -- %s %s 2>&1",
	        getenv("MEMSTACKS_RUNNER"), folder.path, program, command);
	cr_assert_eq(status, 0, "%s: status %d\n%s", program, status, output);
	tally_profile(&folder, &tally);
	for (int i = 0; i < STACK_END_N; i++) {
		if (tally.n_by_end[i] > 0)
			cr_log_info("%s: %lu allocations: %s", program, (unsigned long)tally.n_by_end[i],
			        stack_end_text((enum stack_end)i));
	}
	cr_log_info("%s: %lu stacks of %.1f frames", program, (unsigned long)tally.n_stacks,
	        (double)tally.n_frames / (double)tally.n_stacks);
	cr_expect_gt(tally.n_allocations, 100, "%s", program);
	cr_expect_geq(tally.n_whole * 100, tally.n_allocations * 99, "%s: %lu of %lu", program,
	        (unsigned long)tally.n_whole, (unsigned long)tally.n_allocations);
	free(output);
	folder_remove(&folder);
}

Test(captures, python, .timeout = 120)
{
	setenv("PYTHONMALLOC", "malloc", 1);
	run_case("/usr/bin/python3",
	        "-c \"import json; json.loads(json.dumps([{'a': [str(i)] * 3} for i in range(3000)]))\"");
}

Test(captures, perl, .timeout = 120)
{
	run_case("/usr/bin/perl", "-e 'my %h; $h{$_} = [$_, \"x\" x $_] for 1..3000; print scalar keys %h'");
}

Test(captures, sqlite, .timeout = 120)
{
	run_case("/usr/bin/sqlite3",
	        ":memory: \"create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 "
	        "from c where x < 20000) insert into t select x, 'v' || x from c;\"");
}

Test(captures, git, .timeout = 120)
{
	run_case("/usr/bin/git", "help -a");
}

/* Four processes, one after the other. */
Test(captures, compiler, .timeout = 240)
{
	struct folder folder = folder_new();
	char command[512], path[256];
	FILE *source;

	snprintf(path, sizeof(path), "%s/source.cpp", folder.path);
	source = fopen(path, "w");
	fprintf(source, "#include <map>\n#include <string>\n"
	                "int main(int n, char **v) { std::map<std::string, int> m; m[v[0]] = n; return "
	                "m.size(); }\n");
	fclose(source);
	snprintf(command, sizeof(command), "-O2 -c %s -o %s/source.o", path, folder.path);
	run_case("/usr/bin/gcc", command);
	folder_remove(&folder);
}
