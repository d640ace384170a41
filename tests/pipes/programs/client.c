/* client.c: speaks to the runner as an integration does, one step an argument, and prints each answer on a
 * line.
 *
 *   open            opens the pipes (done by the first step that needs them)
 *   close           closes them
 *   version=N       SetVersion           mode       GetIntegrationMode
 *   name=NAME,VER   SetIntegration       ping       PingProfiler
 *   start, stop     StartProfiler, StopProfiler
 *   bench=URI       CurrentBenchmark     marker=KIND,TIME     AddMarker (TIME "now": the clock's)
 *   raw=HEX         sends bytes and waits for the answer
 *   write=HEX       sends bytes          trickle=HEX          sends them one by one, 2 ms apart
 *   zeros=N         sends N zero bytes
 *   read            waits for an answer
 *   pairs=N,SIZE    malloc and free      keep=N,SIZE          malloc
 *   drop=N          frees the N oldest of those that were kept
 *   many=N          N times: start, two pairs of 100 bytes, stop, bench=many/<i>; prints nothing but failures
 *   sleep=MS        die (by SIGKILL)     env                  prints the variables that switch integrations
 * on
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS 8000
#define N_KEPT_MAX 4096

static int control = -1, answers = -1;
static void *volatile kept[N_KEPT_MAX];
static unsigned n_kept, n_dropped;
/* The compiler must not know that blocks are of no use. */
static void *(*volatile take)(size_t) = malloc;
static void (*volatile give)(void *) = free;

static void say(const char *text)
{
	/* Not printf, nor dprintf: they allocate. */
	if (write(STDOUT_FILENO, text, strlen(text)) < 0 || write(STDOUT_FILENO, "\n", 1) < 0)
		_exit(4);
}

static void die(const char *what)
{
	dprintf(STDERR_FILENO, "client: %s: %s\n", what, strerror(errno));
	_exit(3);
}

static void open_pipes(void)
{
	if (control >= 0)
		return;
	control = open("/tmp/runner.ctl.fifo", O_WRONLY | O_CLOEXEC);
	answers = open("/tmp/runner.ack.fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (control < 0 || answers < 0)
		die("cannot open the pipes");
}

static void send_bytes(const void *data, size_t n)
{
	open_pipes();
	while (n > 0) {
		ssize_t n_written = write(control, data, n);

		if (n_written < 0)
			die("cannot write");
		data = (const char *)data + n_written;
		n -= (size_t)n_written;
	}
}

/* The words of an answer: its length and what it says; 0: none came. */
static size_t receive(uint32_t words[3])
{
	struct pollfd wait = {.fd = answers, .events = POLLIN};
	/* The shorter one at once: several clients may be waiting, and none must get half of it. */
	size_t n = 0, n_expected = 8;

	while (n < n_expected) {
		ssize_t n_read;

		if (poll(&wait, 1, TIMEOUT_MS) <= 0)
			return 0;
		n_read = read(answers, (char *)words + n, n_expected - n);
		/* Another client was faster: it will leave this one its own. */
		if (n_read < 0 && errno == EAGAIN)
			continue;
		if (n_read <= 0)
			die("cannot read an answer");
		n += (size_t)n_read;
		if (n == 8 && words[0] == 8)
			n_expected = 12;
	}
	return n;
}

/* 3: Ack, 6: Err, 10: mode; 0: none. */
static uint32_t read_answer(bool quiet)
{
	uint32_t words[3] = {0};
	size_t n = receive(words);
	char text[64];

	if (n == 0)
		snprintf(text, sizeof(text), "none");
	else if (n == 8 && words[0] == 4 && words[1] == 3)
		snprintf(text, sizeof(text), "ack");
	else if (n == 8 && words[0] == 4 && words[1] == 6)
		snprintf(text, sizeof(text), "err");
	else if (n == 12 && words[0] == 8 && words[1] == 10)
		snprintf(text, sizeof(text), "mode %u", words[2]);
	else
		snprintf(text, sizeof(text), "strange: %zu bytes, %u %u", n, words[0], words[1]);
	if (!quiet || words[1] != 3)
		say(text);
	return words[1];
}

struct message {
	uint8_t data[8192];
	size_t n;
};

static void put(struct message *message, const void *data, size_t n)
{
	if (message->n + n > sizeof(message->data))
		die("too long");
	memcpy(message->data + message->n, data, n);
	message->n += n;
}

static void put_u32(struct message *message, uint32_t value)
{
	put(message, &value, sizeof(value));
}

static void put_u64(struct message *message, uint64_t value)
{
	put(message, &value, sizeof(value));
}

static void put_string(struct message *message, const char *text)
{
	put_u64(message, strlen(text));
	put(message, text, strlen(text));
}

static void converse(const struct message *message, bool quiet)
{
	uint32_t length = (uint32_t)message->n;
	uint8_t whole[sizeof(length) + sizeof(message->data)];

	memcpy(whole, &length, sizeof(length));
	memcpy(whole + sizeof(length), message->data, message->n);
	/* As some clients do: the length, then the rest. Those who run beside others write it all at once
	 * (pipe(7)). */
	if (!quiet)
		send_bytes(whole, sizeof(length));
	send_bytes(whole + (quiet ? 0 : sizeof(length)), message->n + (quiet ? sizeof(length) : 0));
	read_answer(quiet);
}

static void simple(uint32_t kind, bool quiet)
{
	struct message message = {.n = 0};

	put_u32(&message, kind);
	converse(&message, quiet);
}

static void set_version(const char *value)
{
	struct message message = {.n = 0};

	put_u32(&message, 8);
	put_u64(&message, strtoull(value, NULL, 10));
	converse(&message, false);
}

static void set_integration(const char *value)
{
	struct message message = {.n = 0};
	char name[64];
	const char *comma = strchr(value, ',');

	snprintf(name, sizeof(name), "%.*s", (int)(comma - value), value);
	put_u32(&message, 5);
	put_string(&message, name);
	put_string(&message, comma + 1);
	converse(&message, false);
}

static void name_benchmark(const char *uri, bool quiet)
{
	struct message message = {.n = 0};

	put_u32(&message, 0);
	put_u32(&message, (uint32_t)getpid());
	put_string(&message, uri);
	converse(&message, quiet);
}

static void add_marker(const char *value)
{
	struct message message = {.n = 0};
	const char *time = strchr(value, ',') + 1;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	put_u32(&message, 7);
	put_u32(&message, (uint32_t)getpid());
	put_u32(&message, (uint32_t)strtoul(value, NULL, 10));
	put_u64(&message, strcmp(time, "now") ? strtoull(time, NULL, 10)
	                                      : (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	converse(&message, false);
}

static void send_hex(const char *hex, bool trickle)
{
	struct message message = {.n = 0};
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		put(&message, &(uint8_t){(uint8_t)byte}, 1);
	for (size_t i = 0; trickle && i < message.n; i++) {
		send_bytes(message.data + i, 1);
		usleep(2000);
	}
	if (!trickle)
		send_bytes(message.data, message.n);
}

static void send_zeros(size_t n)
{
	static const char zeros[4096];

	for (; n > 0; n -= n < sizeof(zeros) ? n : sizeof(zeros))
		send_bytes(zeros, n < sizeof(zeros) ? n : sizeof(zeros));
}

static void make_pairs(unsigned n, size_t size)
{
	while (n--)
		give(take(size));
}

static void keep(unsigned n, size_t size)
{
	while (n--)
		kept[n_kept++ % N_KEPT_MAX] = take(size);
}

static void drop(unsigned n)
{
	while (n--)
		give(kept[n_dropped++ % N_KEPT_MAX]);
}

static void run_many(unsigned n)
{
	char uri[32];

	for (unsigned i = 0; i < n; i++) {
		simple(1, true);
		make_pairs(2, 100);
		simple(2, true);
		snprintf(uri, sizeof(uri), "many/%u", i);
		name_benchmark(uri, true);
	}
}

static void print_environment(void)
{
	static const char *const names[] = {"CODSPEED_ENV", "CODSPEED_RUNNER_MODE", "CODSPEED_PROFILE_FOLDER",
	        "ARCH", "PYTHONHASHSEED", "PYTHON_PERF_JIT_SUPPORT"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		dprintf(STDOUT_FILENO, "%s=%s\n", names[i], getenv(names[i]) ?: "(unset)");
}

static void close_pipes(void)
{
	close(control);
	close(answers);
	control = answers = -1;
}

/* Steps about memory, and others that say nothing to the runner. False: it is another one. */
static bool do_locally(const char *name, const char *value)
{
	unsigned n = (unsigned)strtoul(value, NULL, 10);
	size_t size = strchr(value, ',') ? strtoul(strchr(value, ',') + 1, NULL, 10) : 0;

	if (!strcmp(name, "pairs"))
		make_pairs(n, size);
	else if (!strcmp(name, "keep"))
		keep(n, size);
	else if (!strcmp(name, "drop"))
		drop(n);
	else if (!strcmp(name, "sleep"))
		usleep(n * 1000);
	else if (!strcmp(name, "die"))
		kill(getpid(), SIGKILL);
	else if (!strcmp(name, "env"))
		print_environment();
	else if (!strcmp(name, "close"))
		close_pipes();
	else if (!strcmp(name, "open"))
		open_pipes();
	else
		return false;
	return true;
}

static void converse_by_name(const char *name, const char *value)
{
	if (!strcmp(name, "version"))
		set_version(value);
	else if (!strcmp(name, "name"))
		set_integration(value);
	else if (!strcmp(name, "bench"))
		name_benchmark(value, false);
	else if (!strcmp(name, "marker"))
		add_marker(value);
	else if (!strcmp(name, "start") || !strcmp(name, "stop"))
		simple(strcmp(name, "start") ? 2 : 1, false);
	else if (!strcmp(name, "ping") || !strcmp(name, "mode"))
		simple(*name == 'p' ? 4 : 9, false);
	else if (!strcmp(name, "many"))
		run_many((unsigned)strtoul(value, NULL, 10));
	else if (!strcmp(name, "zeros"))
		send_zeros(strtoul(value, NULL, 10));
	else if (!strcmp(name, "raw") || !strcmp(name, "write") || !strcmp(name, "trickle"))
		send_hex(value, *name == 't');
	else if (strcmp(name, "read"))
		die(name);
	if (!strcmp(name, "raw") || !strcmp(name, "read"))
		read_answer(false);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *value = strchrnul(argv[i], '=');

		if (*value)
			*value++ = '\0';
		if (!do_locally(argv[i], value))
			converse_by_name(argv[i], value);
	}
	return 0;
}
