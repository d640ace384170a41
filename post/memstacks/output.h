/* output.h: an output file that appears when it is complete, or not at all. */
#ifndef POST_MEMSTACKS_OUTPUT_H
#define POST_MEMSTACKS_OUTPUT_H

#include <stdio.h>

struct output {
	FILE *stream;
	char *path;      /* the name it shall have; NULL: the stream is written directly */
	char *temporary; /* the name it has while it grows, in the same folder */
};

/* `path` NULL: standard output. What is no regular file (a pipe, /dev/null) is written directly; a symbolic
 * link is followed. 0 or a negative errno. Ends with output_commit or output_abort. */
int output_open(const char *path, struct output *ret_output);

/* Writes what is pending and gives the file its name. 0 or a negative errno: no file is left then. */
int output_commit(struct output *output);

/* Leaves no file. */
void output_abort(struct output *output);

#endif
