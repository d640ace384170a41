/* environment.c: the environment that the benchmark gets. */
#include "process/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static int add(struct environment *environment, const char *variable)
{
	const char **variables =
	        reallocarray(environment->variables, environment->n_variables + 2, sizeof(*variables));

	if (!variables)
		return -ENOMEM;
	variables[environment->n_variables++] = variable;
	variables[environment->n_variables] = NULL;
	environment->variables = variables;
	return 0;
}

static int add_from_stack(struct environment *environment, const char *at, const char *end)
{
	int error = 0;

	for (; at < end && error == 0; at += strlen(at) + 1)
		error = add(environment, at);
	return error;
}

static int add_from_environ(struct environment *environment)
{
	int error = 0;

	for (char **variable = environ; *variable && error == 0; variable++)
		error = add(environment, *variable);
	return error;
}

int environment_init(struct environment *ret_environment, char **argv)
{
	const char *end = (const char *)getauxval(AT_EXECFN);
	const char *start = NULL;
	struct environment environment = {0};
	int error;

	environment.variables = calloc(1, sizeof(*environment.variables));
	if (!environment.variables)
		return -ENOMEM;
	for (; *argv; argv++)
		start = *argv + strlen(*argv) + 1;
	if (getauxval(AT_SECURE) && start && end > start)
		error = add_from_stack(&environment, start, end);
	else
		error = add_from_environ(&environment);
	if (error < 0)
		environment_deinit(&environment);
	else
		*ret_environment = environment;
	return error;
}

void environment_deinit(struct environment *environment)
{
	for (size_t i = 0; i < environment->n_own; i++)
		free(environment->own[i]);
	free(environment->own);
	free(environment->variables);
	*environment = (struct environment){0};
}

/* Where the variable stands, or n_variables. */
static size_t find(const struct environment *environment, const char *name)
{
	size_t n_name = strlen(name);
	size_t i = 0;

	while (i < environment->n_variables && (strncmp(environment->variables[i], name, n_name) ||
	                                               environment->variables[i][n_name] != '='))
		i++;
	return i;
}

const char *environment_get(const struct environment *environment, const char *name)
{
	size_t i = find(environment, name);

	return i < environment->n_variables ? environment->variables[i] + strlen(name) + 1 : NULL;
}

int environment_set(struct environment *environment, const char *name, const char *value)
{
	size_t i = find(environment, name);
	char **own = reallocarray(environment->own, environment->n_own + 1, sizeof(*own));
	char *variable;

	if (!own)
		return -ENOMEM;
	environment->own = own;
	if (asprintf(&variable, "%s=%s", name, value) < 0)
		return -ENOMEM;
	own[environment->n_own++] = variable;
	if (i == environment->n_variables)
		return add(environment, variable);
	environment->variables[i] = variable;
	return 0;
}
