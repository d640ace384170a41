/* subjects.h: the programs whose stacks are judged, and recording them. */
#ifndef TESTS_IDENTITY_SUBJECTS_H
#define TESTS_IDENTITY_SUBJECTS_H

#include <stddef.h>

struct subject {
	const char *name;
	const char *const *argv; /* a word with @ before it is the path of a fixture */
	const char *const *env;  /* may be NULL */
};

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A path of the test's own with nothing there, in a fresh folder: subject_remove removes both. */
char *subject_folder(const char *name);

/* C++ source text for the compiler as a subject, in a file of its own; subject_remove ends it. */
char *subject_source(const char *name, const char *text);

/* Records it with stacks and `options` (NULL-terminated, may be NULL). The command and the runner must end
 * with 0 and nothing may be lost. Returns the profile folder: subject_remove ends it. */
char *subject_record(const struct subject *subject, const char *const *options);

/* Removes what subject_folder or one of the others gave (profiles are large), and frees the path. */
void subject_remove(char *folder);

#endif
