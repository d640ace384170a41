/* floor.h: the trap floor: programs that do nothing, at the very places where the instrument puts its own. */
#ifndef TESTS_BENCH_FLOOR_H
#define TESTS_BENCH_FLOOR_H

/* Attaches to malloc (entry and return) and free (entry) of the library at `path`, for all processes, by the
 * best mechanism the kernel has. *ret_links gets descriptors, at most 4; closing them detaches. Returns how
 * many there are, or a negative errno. */
int floor_attach(const char *path, int ret_links[static 4]);

#endif
