/* command.h: whether there is a command to run. */
#ifndef RUNNER_PROCESS_COMMAND_H
#define RUNNER_PROCESS_COMMAND_H

/* Looks for `file` as execvp would, before anything is set up for it. 0: it may be there (only execve knows
 * for sure), -ENOENT: it is nowhere, -EACCES: it is there and nobody may execute it. */
int command_check(const char *file);

#endif
