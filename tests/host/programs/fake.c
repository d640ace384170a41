/* fake.c: an instrument that does what its options say, and writes down how it is called.
 *
 * Built several times: with FAKE_ABI_MAJOR and FAKE_SIZE for what a host must refuse.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runner_plugin.h"

#ifndef FAKE_ABI_MAJOR
#define FAKE_ABI_MAJOR RUNNER_ABI_MAJOR
#endif
#ifndef FAKE_SIZE
#define FAKE_SIZE sizeof(struct runner_plugin)
#endif
#ifndef FAKE_NAME
#define FAKE_NAME "fake"
#endif

static const struct runner_option options[] = {
        {"fake-fail", "HOOK", "fail in HOOK (with :ERRNO)"},
        {"fake-silent", NULL, "do not say why"},
        {"fake-lost", "N", "lose N events"},
        {"fake-not-traced", "N", "do not trace N programs"},
        {"fake-gate", NULL, "a gate fails"},
        {"fake-leak", NULL, "leave descriptors, limits and handlers changed"},
        {"fake-slow", "HOOK:MS", "take MS milliseconds in HOOK"},
        {"fake-steps", "N", "report progress N times, 100 ms apart"},
        {"fake-log", "LEVEL:TEXT", "log TEXT in open"},
        {"fake-setup", NULL, "hand a descriptor over from the child"},
        {"fake-litter", NULL, "leave files in the profile folder in open"},
        {"fake-nothing", "ANY", "an option without any effect"},
        {"fake-figures", "N", "have N figures"},
        {"fake-benchmarks", "N", "have N benchmarks; number 77 has too few figures"},
        {"fake-rights", NULL, "note capabilities and limits"},
};

struct fake {
	const struct runner_host *host;
	const char *values[sizeof(options) / sizeof(options[0])];
	int log; /* calls.txt in the profile folder: the hooks as they are called */
	int setup_fd;
	unsigned n_figures_calls;
};

/* The value of an option, or NULL. */
static const char *value(const struct fake *fake, const char *name)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (!strcmp(options[i].name, name))
			return fake->values[i];
	abort();
}

static unsigned long number(const struct fake *fake, const char *name)
{
	const char *text = value(fake, name);

	return text ? strtoul(text, NULL, 10) : 0;
}

/* What follows "HOOK:" in an option, NULL when the option is for another hook. */
static const char *for_hook(const struct fake *fake, const char *name, const char *hook)
{
	const char *text = value(fake, name);
	size_t length = strlen(hook);

	if (!text || strncmp(text, hook, length) || (text[length] && text[length] != ':'))
		return NULL;
	return text[length] ? text + length + 1 : text + length;
}

static void sleep_ms(unsigned long ms)
{
	struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* Notes the call, and is slow or fails as the options say. */
static int enter(struct fake *fake, const char *hook)
{
	const char *slow = for_hook(fake, "fake-slow", hook);
	const char *fail = for_hook(fake, "fake-fail", hook);
	char text[200];

	dprintf(fake->log, "%s\n", hook);
	if (slow)
		sleep_ms(strtoul(slow, NULL, 10));
	if (!fail)
		return 0;
	snprintf(text, sizeof(text), "fake failure in %s", hook);
	if (!value(fake, "fake-silent"))
		fake->host->log(fake->host->context, RUNNER_LOG_ERROR, text);
	return *fail ? -atoi(fail) : -EIO;
}

/* What a careless instrument does to the process it is loaded into. */
static void leak(void)
{
	struct rlimit files;
	struct rlimit core;

	for (int i = 0; i < 5; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			abort();
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max / 2;
	setrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_CORE, &core);
	core.rlim_cur = core.rlim_cur ? 0 : core.rlim_max;
	setrlimit(RLIMIT_CORE, &core);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGALRM, SIG_IGN);
	umask(0123);
}

static void litter(const struct runner_host *host)
{
	int fd;

	if (mkdirat(host->profile_fd, "results", 0700) < 0)
		abort();
	fd = openat(host->profile_fd, "results/file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		abort();
	close(fd);
}

static void note_rights(const struct fake *fake)
{
	struct rlimit files;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		abort();
	getrlimit(RLIMIT_NOFILE, &files);
	dprintf(fake->log, "effective %x all descriptors %d\n", data[0].effective,
	        files.rlim_cur == files.rlim_max);
}

static void log_text(const struct fake *fake)
{
	const char *text = value(fake, "fake-log");

	if (text)
		fake->host->log(fake->host->context, (uint32_t)(*text - '0'), text + 2);
}

static int fake_open(const struct runner_host *host, const struct runner_setting *settings,
        uint32_t n_settings, void **ret_state)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	int error;

	if (!fake)
		return -ENOMEM;
	fake->host = host;
	for (uint32_t i = 0; i < n_settings; i++)
		for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
			if (!strcmp(options[k].name, settings[i].name))
				fake->values[k] = settings[i].value;
	fake->log = openat(
	        host->profile_fd, "calls.txt", O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (fake->log < 0)
		abort();
	for (uint32_t i = 0; i < n_settings; i++)
		dprintf(fake->log, "setting %s=%s\n", settings[i].name, settings[i].value);
	dprintf(fake->log, "host abi=%u size=%u live=%u owner=%u:%u\n", host->abi_major, host->size,
	        host->wants_live, host->owner_uid, host->owner_gid);
	if (value(fake, "fake-leak"))
		leak();
	if (value(fake, "fake-litter"))
		litter(host);
	if (value(fake, "fake-rights"))
		note_rights(fake);
	log_text(fake);
	error = enter(fake, "open");
	if (error < 0) {
		close(fake->log);
		free(fake);
		return error;
	}
	*ret_state = fake;
	return 0;
}

static int fake_child_setup(void *state)
{
	struct fake *fake = state;
	const char *fail = for_hook(fake, "fake-fail", "child_setup");
	int ends[2];

	if (fail && !strcmp(fail, "die"))
		_exit(3);
	if (fail)
		return *fail ? -atoi(fail) : -EIO;
	if (!value(fake, "fake-setup"))
		return RUNNER_NO_FD;
	if (pipe(ends) < 0)
		return -errno;
	/* Only this process can say it, and only the runner hears it: the pipe is the descriptor handed over.
	 */
	if (write(ends[1], "from the child", 14) != 14)
		return -EIO;
	close(ends[1]);
	return ends[0];
}

static void take_setup_fd(struct fake *fake, const struct runner_child *child)
{
	char text[32] = "";
	ssize_t n = child->setup_fd < 0 ? 0 : read(child->setup_fd, text, sizeof(text) - 1);
	int cloexec = child->setup_fd < 0 ? -1 : fcntl(child->setup_fd, F_GETFD) & FD_CLOEXEC;

	text[n < 0 ? 0 : n] = '\0';
	dprintf(fake->log, "setup '%s' cloexec=%d\n", text, cloexec);
	if (child->setup_fd >= 0)
		close(child->setup_fd);
}

/* What the child looks like while it is held: its user, what it has open, its command line. */
static void look_at_child(struct fake *fake, const struct runner_child *child)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d", (int)child->pid);
	if (stat(path, &status) < 0)
		abort();
	dprintf(fake->log, "child pid=%d\n", (int)child->pid);
	dprintf(fake->log, "child size=%u uid=%u pidfd=%d argv0=%s\n", child->size, (unsigned)status.st_uid,
	        child->pidfd >= 0, child->argv[0]);
}

static int fake_pre_exec(void *state, const struct runner_child *child)
{
	struct fake *fake = state;

	take_setup_fd(fake, child);
	look_at_child(fake, child);
	return enter(fake, "pre_exec");
}

static int fake_start(void *state)
{
	return enter(state, "start");
}

static int fake_stop(void *state)
{
	return enter(state, "stop");
}

static int fake_figures(void *state, struct runner_figure *ret_figures, uint32_t n_figures)
{
	struct fake *fake = state;
	const struct runner_figure all[] = {
	        {"allocations", "allocations", 12044, RUNNER_UNIT_COUNT,
	                RUNNER_FIGURE_LIVE | RUNNER_FIGURE_SUMMARY},
	        {"peak_bytes", "peak", 1900000, RUNNER_UNIT_BYTES,
	                RUNNER_FIGURE_LIVE | RUNNER_FIGURE_SUMMARY},
	        {"lost", "lost", number(fake, "fake-lost"), RUNNER_UNIT_COUNT,
	                RUNNER_FIGURE_LIVE | RUNNER_FIGURE_SUMMARY | RUNNER_FIGURE_BAD},
	        {"busy_ns", "busy", 1500000000, RUNNER_UNIT_NANOSECONDS, 0},
	        {"big", "big", UINT64_MAX, RUNNER_UNIT_COUNT, 0},
	        {"calls", "calls", ++fake->n_figures_calls, RUNNER_UNIT_COUNT, RUNNER_FIGURE_LIVE},
	};
	static char keys[2000][16];
	uint32_t n_wanted = (uint32_t)number(fake, "fake-figures");
	uint32_t n_all = n_wanted ? n_wanted : (uint32_t)(sizeof(all) / sizeof(all[0]));

	if (for_hook(fake, "fake-fail", "figures"))
		return -EIO;
	for (uint32_t i = 0; i < n_all && i < n_figures; i++) {
		snprintf(keys[i], sizeof(keys[i]), "key%u", i);
		ret_figures[i] = n_wanted ? (struct runner_figure){keys[i], keys[i], i, 0, 0} : all[i];
	}
	return (int)n_all;
}

static int fake_post_exec(void *state, int32_t wait_status,
        int (*progress)(void *context, uint32_t thousandths, const char *what), void *progress_context,
        struct runner_outcome *ret_outcome)
{
	struct fake *fake = state;
	unsigned long n_steps = number(fake, "fake-steps");
	int error;

	dprintf(fake->log, "wait_status %d\n", wait_status);
	error = enter(fake, "post_exec");
	if (error < 0)
		return error;
	for (unsigned long i = 0; i < n_steps; i++) {
		sleep_ms(100);
		if (progress && progress(progress_context, (uint32_t)(1000 * i / n_steps), "fake work")) {
			dprintf(fake->log, "stopped after %lu\n", i);
			return -EINTR;
		}
	}
	ret_outcome->n_lost = number(fake, "fake-lost");
	ret_outcome->n_not_traced = number(fake, "fake-not-traced");
	ret_outcome->gate_failed = value(fake, "fake-gate") != NULL;
	return 0;
}

static int fake_integration(void *state, const char *name, const char *version)
{
	struct fake *fake = state;

	dprintf(fake->log, "integration %s %s\n", name, version);
	return 0;
}

static int fake_benchmark(void *state, int32_t pid, const char *uri, uint64_t timestamp)
{
	struct fake *fake = state;

	dprintf(fake->log, "benchmark %d %s %d\n", pid > 0, uri, timestamp > 0);
	return for_hook(fake, "fake-fail", "benchmark") ? -EIO : 0;
}

static int fake_marker(void *state, int32_t pid, uint32_t kind, uint64_t timestamp)
{
	struct fake *fake = state;

	if (pid)
		dprintf(fake->log, "marker %u %llu\n", kind, (unsigned long long)timestamp);
	else
		dprintf(fake->log, "sample %u\n", kind);
	return 0;
}

/* As many as the option says, alternately named and not. */
static int fake_benchmark_figures(void *state, uint64_t index, const char **ret_uri,
        struct runner_figure *ret_figures, uint32_t n_figures)
{
	const struct runner_figure all[] = {
	        {"allocs", "allocs", 12044 + index, RUNNER_UNIT_COUNT, RUNNER_FIGURE_SUMMARY},
	        {"peak", "peak", 604000, RUNNER_UNIT_BYTES, RUNNER_FIGURE_SUMMARY},
	        {"hidden", "hidden", index, RUNNER_UNIT_COUNT, 0},
	};

	if (index >= number(state, "fake-benchmarks"))
		return 0;
	*ret_uri = index % 2 ? "" : "tests/bench_x.py::test_a";
	for (uint32_t i = 0; i < n_figures && i < sizeof(all) / sizeof(all[0]); i++)
		ret_figures[i] = all[i];
	return (int)(sizeof(all) / sizeof(all[0])) - (index == 77);
}

static void fake_close(void *state)
{
	struct fake *fake = state;

	dprintf(fake->log, "close\n");
	close(fake->log);
	free(fake);
}

extern const struct runner_plugin runner_plugin;

__attribute__((visibility("default"))) const struct runner_plugin runner_plugin = {
        .abi_major = FAKE_ABI_MAJOR,
        .size = FAKE_SIZE,
        .name = FAKE_NAME,
        .version = "1.2.3",
        .summary = "does what its options say",
        .options = options,
        .n_options = sizeof(options) / sizeof(options[0]),
        .open = fake_open,
        .child_setup = fake_child_setup,
        .pre_exec = fake_pre_exec,
        .start = fake_start,
        .stop = fake_stop,
        .figures = fake_figures,
        .post_exec = fake_post_exec,
        .close = fake_close,
        .integration = fake_integration,
        .benchmark = fake_benchmark,
        .marker = fake_marker,
        .benchmark_figures = fake_benchmark_figures,
};
