/* host.h: runs the real runner for a test, and what the test asks about it afterwards.
 *
 * Every test gets a directory of its own that is TMPDIR of all it runs, and that is removed in the end.
 * Expects in the environment: HOST_RUNNER, the program, and HOST_PROGRAMS, the directory of the test programs
 * and of the instruments runner-fake*.so.
 */
#ifndef HOST_SUPPORT_HOST_H
#define HOST_SUPPORT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* How something ended that was run, with all it wrote. */
struct outcome {
	int wait_status;
	int status; /* as a shell has it: exit status, or 128 + signal */
	char *out;
	char *err;
};

/* Something under way. */
struct job {
	pid_t pid;
	char *out_path;
	char *err_path;
};

/* For TestSuite(.init = …, .fini = …). */
void host_init(void);
void host_deinit(void);

const char *host_runner(void);
const char *host_programs(void);

/* Formats a path below the test's directory, or below the test programs. Never freed: a test is a process. */
char *host_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *host_program(const char *name);

/* A command line with the runner, the fake instrument, and what is given. */
#define FAKE(...)                                                                                            \
	((const char *const[]){                                                                              \
	        host_runner(), "--plugin-dir", host_programs(), "--instrument", "fake", __VA_ARGS__, NULL})
/* Any command line. */
#define COMMAND(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Starts a command with standard output and error into files. In the new process, `prepare` (may be NULL) is
 * called with `context` just before execve. Fails the test when it cannot. */
struct job host_start(const char *const *argv, void (*prepare)(void *context), void *context);

/* Waits for the end, for at most a minute. */
struct outcome host_finish(struct job job);

/* Both. */
struct outcome host_run(const char *const *argv);
struct outcome host_run_prepared(const char *const *argv, void (*prepare)(void *context), void *context);

/* Content of a file; NULL when there is none. */
char *host_read(const char *path);
void host_write(const char *path, const char *text, mode_t mode);
void host_copy(const char *from, const char *to, mode_t mode);

/* Waits until the file exists and has `text` in it (at most 20 s, then the test fails). */
void host_await(const char *path, const char *text);

/* The only profile folder in the test's directory; NULL: none, or several. */
char *host_profile(void);
/* A file of it. */
char *host_profile_file(const char *name);

/* Number of lines. */
size_t host_n_lines(const char *text);

/* Whether a file system there lets programs have file capabilities and set-user-ID. */
bool host_grants_rights(void);

void host_sleep_ms(unsigned ms);

/* Ends the test as skipped, which is shown, unless it runs as root. */
void host_need_root(void);

#endif
