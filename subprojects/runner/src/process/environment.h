/* environment.h: the environment that the benchmark gets. */
#ifndef RUNNER_PROCESS_ENVIRONMENT_H
#define RUNNER_PROCESS_ENVIRONMENT_H

#include <stddef.h>

struct environment {
	const char **variables; /* NULL-terminated, for execve */
	size_t n_variables;
	char **own; /* strings made by environment_set */
	size_t n_own;
};

/* The variables that the runner was started with, in their order. The strings stay where they are. argv:
 * main's.
 *
 * For a program with raised rights the dynamic loader removes variables such as LD_LIBRARY_PATH and TMPDIR
 * (ld.so(8), "secure-execution mode"). They are the benchmark's all the same, which runs without those
 * rights: the strings still lie between the arguments and AT_EXECFN, where the kernel put them
 * (create_elf_tables in fs/binfmt_elf.c, setup of bprm in fs/exec.c), and are taken from there. */
int environment_init(struct environment *ret_environment, char **argv);
void environment_deinit(struct environment *environment);

/* The value of a variable, NULL when there is none. */
const char *environment_get(const struct environment *environment, const char *name);

/* Replaces or adds a variable. -ENOMEM. */
int environment_set(struct environment *environment, const char *name, const char *value);

#endif
