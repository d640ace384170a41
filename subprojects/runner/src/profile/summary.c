/* summary.c: what a run came to, for people and as summary.json in the profile folder. */
#include "profile/summary.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "status.h"
#include "util/cleanup.h"
#include "util/text.h"

#define FORMAT_VERSION 1
#define FILE_NAME      "summary.json"

int summary_exit_status(const struct summary *summary)
{
	if (WIFSIGNALED(summary->wait_status))
		return STATUS_SIGNAL + WTERMSIG(summary->wait_status);
	if (WEXITSTATUS(summary->wait_status))
		return WEXITSTATUS(summary->wait_status);
	if (!summary->is_finished)
		return STATUS_RUNNER;
	if (summary->outcome.n_lost && !summary->allow_loss)
		return STATUS_LOST;
	if (summary->outcome.n_not_traced)
		return STATUS_NOT_TRACED;
	if (summary->outcome.gate_failed)
		return STATUS_GATE;
	return integration_is_empty(summary->integration) && !summary->allow_empty ? STATUS_NO_BENCHMARK : 0;
}

void summary_warn(const struct summary *summary, struct console *console)
{
	char count[TEXT_NUMBER_SIZE];

	if (!summary->is_finished) {
		console_warning(console, "the profile is not complete");
		return;
	}
	text_count(summary->outcome.n_lost, count);
	if (summary->outcome.n_lost)
		console_warning(console, "events lost: %s; the profile is not complete%s", count,
		        summary->allow_loss ? " (allowed)" : "");
	text_count(summary->outcome.n_not_traced, count);
	if (summary->outcome.n_not_traced)
		console_warning(console, "programs or libraries not traced: %s", count);
	if (summary->outcome.gate_failed)
		console_warning(console, "a gate failed");
	if (integration_is_empty(summary->integration))
		console_warning(console, "no benchmark ran: %s%s",
		        summary->integration->has_spoken ? "an integration spoke, and named none"
		                                         : "no integration spoke",
		        summary->allow_empty ? " (allowed)" : "");
}

static void print_result(const struct summary *summary, FILE *stream)
{
	char wall[TEXT_NUMBER_SIZE];
	int number = WTERMSIG(summary->wait_status);

	text_duration(summary->wall_ns, wall);
	if (WIFSIGNALED(summary->wait_status))
		fprintf(stream, "runner: %s: ended by signal %d (%s) after %s\n", summary->api->name, number,
		        strsignal(number), wall);
	else
		fprintf(stream, "runner: %s: ended with status %d after %s\n", summary->api->name,
		        WEXITSTATUS(summary->wait_status), wall);
}

void summary_print(const struct summary *summary, const struct folder *folder, struct console *console)
{
	char *text CLEANUP_FREE = NULL;
	char *table CLEANUP_FREE = NULL;
	char *benchmarks CLEANUP_FREE = NULL;
	char *path CLEANUP_FREE = strdup(folder->path);
	size_t size = 0;
	FILE *stream;

	if (console->quiet || !path || figures_table(&summary->figures, console->colour, &table) < 0 ||
	        benchmarks_table(&summary->benchmarks, &benchmarks) < 0)
		return;
	stream = open_memstream(&text, &size);
	if (!stream)
		return;
	text_defuse(path);
	print_result(summary, stream);
	fprintf(stream, "%s%srunner: profile: %s\n", table, benchmarks, path);
	if (fclose(stream) == 0)
		console_write(console, text);
}

/* Adds a value whatever string it is; a NULL value (no memory) makes the result false. */
static bool add(struct json_object *object, const char *key, struct json_object *value)
{
	if (value && json_object_object_add(object, key, value) == 0)
		return true;
	json_object_put(value);
	return false;
}

static struct json_object *new_string(const char *text)
{
	char *clean CLEANUP_FREE = text_utf8(text);

	return clean ? json_object_new_string(clean) : NULL;
}

static bool append(struct json_object *array, const char *text)
{
	struct json_object *value = new_string(text);

	if (value && json_object_array_add(array, value) == 0)
		return true;
	json_object_put(value);
	return false;
}

static bool add_strings(struct json_object *object, const char *key, char *const *strings, size_t n_strings)
{
	struct json_object *array = json_object_new_array();

	if (!add(object, key, array))
		return false;
	for (size_t i = 0; i < n_strings; i++)
		if (!append(array, strings[i]))
			return false;
	return true;
}

static bool add_versions(struct json_object *root, const struct summary *summary)
{
	struct json_object *runner = json_object_new_object();
	struct json_object *instrument = json_object_new_object();
	bool are_added = add(root, "version", json_object_new_int(FORMAT_VERSION));

	/* Both belong to the root before anything can fail and leave one behind. */
	are_added = add(root, "runner", runner) && are_added;
	are_added = add(root, "instrument", instrument) && are_added;
	return are_added && add(runner, "version", json_object_new_string(RUNNER_VERSION)) &&
	       add(runner, "abi_major", json_object_new_int(RUNNER_ABI_MAJOR)) &&
	       add(instrument, "name", new_string(summary->api->name)) &&
	       add(instrument, "version", new_string(summary->api->version));
}

static bool add_run(struct json_object *root, const struct summary *summary)
{
	struct json_object *status = json_object_new_object();
	bool signaled = WIFSIGNALED(summary->wait_status);
	char started[32];
	struct tm utc;
	size_t n_command = 0;

	while (summary->command[n_command])
		n_command++;
	gmtime_r(&summary->started.tv_sec, &utc);
	strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &utc);
	return add(root, "command_status", status) &&
	       add(status, signaled ? "signal" : "exited",
	               json_object_new_int(signaled ? WTERMSIG(summary->wait_status)
	                                            : WEXITSTATUS(summary->wait_status))) &&
	       add_strings(root, "command", summary->command, n_command) &&
	       add(root, "started", json_object_new_string(started)) &&
	       add(root, "wall_ns", json_object_new_uint64(summary->wall_ns)) &&
	       add(root, "exit_status", json_object_new_int(summary->exit_status));
}

static bool add_outcome(struct json_object *root, const struct summary *summary)
{
	return add(root, "complete",
	               json_object_new_boolean(summary->is_finished && !summary->outcome.n_lost)) &&
	       add(root, "lost", json_object_new_uint64(summary->outcome.n_lost)) &&
	       add(root, "not_traced", json_object_new_uint64(summary->outcome.n_not_traced)) &&
	       add(root, "gate_failed", json_object_new_boolean(summary->outcome.gate_failed)) &&
	       add(root, "allow_loss", json_object_new_boolean(summary->allow_loss)) &&
	       add(root, "allow_empty", json_object_new_boolean(summary->allow_empty)) &&
	       add(root, "no_benchmark",
	               json_object_new_boolean(integration_is_empty(summary->integration)));
}

static bool add_integration(struct json_object *root, const struct integration *integration)
{
	struct json_object *object;

	if (!integration->has_spoken)
		return json_object_object_add(root, "integration", NULL) == 0;
	object = json_object_new_object();
	return add(root, "integration", object) && add(object, "name", new_string(integration->name ?: "")) &&
	       add(object, "version", new_string(integration->version ?: ""));
}

static bool add_benchmark(struct json_object *array, const struct benchmarks *benchmarks, size_t index)
{
	const struct runner_figure *figures = benchmarks_figures(benchmarks, index);
	struct json_object *object = json_object_new_object();

	if (!object || json_object_array_add(array, object) < 0) {
		json_object_put(object);
		return false;
	}
	if (!add(object, "uri", new_string(benchmarks->uris[index])))
		return false;
	for (uint32_t i = 0; i < benchmarks->n_figures; i++)
		if (!add(object, figures[i].key, json_object_new_uint64(figures[i].value)))
			return false;
	return true;
}

static bool add_benchmarks(struct json_object *root, const struct benchmarks *benchmarks)
{
	struct json_object *array = json_object_new_array();

	if (!add(root, "benchmarks", array))
		return false;
	for (size_t i = 0; i < benchmarks->n; i++)
		if (!add_benchmark(array, benchmarks, i))
			return false;
	return true;
}

static bool add_figures(struct json_object *root, const struct figures *figures)
{
	struct json_object *object = json_object_new_object();

	if (!add(root, "figures", object))
		return false;
	for (uint32_t i = 0; i < figures->n_items; i++)
		if (!add(object, figures->items[i].key, json_object_new_uint64(figures->items[i].value)))
			return false;
	return true;
}

static int write_text(int fd, const char *text)
{
	size_t length = strlen(text);

	while (length > 0) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			length -= (size_t)n;
		}
	}
	return 0;
}

static void put_json(struct json_object **object)
{
	json_object_put(*object);
}

int summary_write(const struct summary *summary, const struct folder *folder, const struct console *console)
{
	struct json_object *root CLEANUP(put_json) = json_object_new_object();
	int fd CLEANUP_CLOSE = -1;
	const char *text;
	int error;

	if (!root || !add_versions(root, summary) || !add_run(root, summary) || !add_outcome(root, summary) ||
	        !add_integration(root, summary->integration) || !add_figures(root, &summary->figures) ||
	        !add_benchmarks(root, &summary->benchmarks) ||
	        !add_strings(root, "messages", console->kept, console->n_kept) ||
	        !add(root, "n_messages_left_out", json_object_new_uint64(console->n_not_kept)))
		return -ENOMEM;
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text)
		return -ENOMEM;
	fd = folder_create_file(folder, FILE_NAME);
	if (fd < 0)
		return fd;
	error = write_text(fd, text);
	return error < 0 ? error : write_text(fd, "\n");
}
