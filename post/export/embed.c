/* embed.c: build tool: files as a C array, one after the other.
 *
 *     embed NAME FILE…    writes `const unsigned char NAME[]` and `const size_t NAME_size` to standard output
 */
#include <stdio.h>

static int embed(const char *path, size_t *n_bytes)
{
	FILE *file = fopen(path, "rb");
	int byte;

	if (!file) {
		perror(path);
		return -1;
	}
	while ((byte = getc(file)) != EOF) {
		printf("%d,", byte);
		if (++*n_bytes % 32 == 0)
			putchar('\n');
	}
	fclose(file);
	return 0;
}

int main(int argc, char **argv)
{
	size_t n_bytes = 0;

	if (argc < 3)
		return 2;
	printf("#include \"export/page.h\"\nconst unsigned char %s[] = {\n", argv[1]);
	for (int i = 2; i < argc; i++)
		if (embed(argv[i], &n_bytes) < 0)
			return 1;
	printf("};\nconst size_t %s_size = %zu;\n", argv[1], n_bytes);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
