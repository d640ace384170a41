/* list_sites.c: prints the probe sites of an ELF file, for the test that single-steps them and for people. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "probe/functions.h"
#include "util/cleanup.h"

int main(int argc, char **argv)
{
	struct found_functions found;
	CLEANUP_CLOSE int fd = -1;
	int r;

	if (argc != 2) {
		fprintf(stderr, "usage: list_sites FILE\n"
				"Prints a line per allocator function: symbol, SVMA (hex), site offset, file offset of the\n"
				"site (hex), arguments read there, and whether the kernel emulates or steps it.\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "list_sites: cannot open %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	r = found_functions_read(fd, &found);
	if (r) {
		fprintf(stderr, "list_sites: cannot read %s: %s\n", argv[1], strerror(-r));
		return 1;
	}
	for (size_t i = 0; i < found.n_functions; i++) {
		const struct found_function *f = &found.functions[i];

		printf("%s %" PRIx64 " %u %" PRIx64 " %u %s\n", f->function->symbol, f->svma, f->site.offset,
			f->file_offset, f->function->n_arguments, f->site.emulated ? "emulated" : "stepped");
	}
	found_functions_deinit(&found);
	return 0;
}
