/* test_symbols.c: tables of symbols as files. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "module/symbols.h"
#include "support.h"
#include "util/cleanup.h"
#include "util/file.h"

static struct symbols parse(char *text)
{
	struct symbols symbols;

	cr_assert_eq(symbols_parse(text, strlen(text), &symbols), 0);
	return symbols;
}

static const char *name_at(const struct symbols *symbols, uint64_t svma)
{
	const struct symbol *symbol = symbols_find(symbols, svma);

	return symbol ? symbol->name : "none";
}

Test(symbols, find)
{
	char text[] =
	        "1000 100 outer\n1010 10 inner\n1010 10 alias\n1018 4 innermost\n2000 1 last with spaces\n";
	struct symbols symbols = parse(text);

	cr_assert_eq(symbols.n, 5);
	cr_assert_eq(symbols.n_bad, 0);
	cr_assert_str_eq(name_at(&symbols, 0xfff), "none");
	cr_assert_str_eq(name_at(&symbols, 0x1000), "outer");
	cr_assert_str_eq(name_at(&symbols, 0x1010), "inner");
	cr_assert_str_eq(name_at(&symbols, 0x1017), "inner");
	cr_assert_str_eq(name_at(&symbols, 0x1018), "innermost");
	cr_assert_str_eq(name_at(&symbols, 0x101c), "inner");
	cr_assert_str_eq(name_at(&symbols, 0x1020), "outer");
	cr_assert_str_eq(name_at(&symbols, 0x10ff), "outer");
	cr_assert_str_eq(name_at(&symbols, 0x1100), "none");
	cr_assert_str_eq(name_at(&symbols, 0x2000), "last with spaces");
	cr_assert_str_eq(name_at(&symbols, 0x2001), "none");
	symbols_deinit(&symbols);
}

/* Lookups against the plain definition: of the symbols that cover the address the nearest start, then the
 * first. */
Test(symbols, find_at_random)
{
	struct random random = {.state = 3};
	char text[4000] = "";
	struct symbols symbols;
	size_t n = 0;

	for (int i = 0; i < 150; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%zx %zx s%d\n",
		        (size_t)random_below(&random, 300),
		        (size_t)(1 + random_below(&random, i % 10 ? 8 : 200)), i);
	symbols = parse(text);
	cr_assert_eq(symbols.n, 150);
	for (uint64_t svma = 0; svma < 600; svma++) {
		const struct symbol *expected = NULL;

		for (size_t i = 0; i < symbols.n; i++) {
			const struct symbol *symbol = &symbols.items[i];

			if (symbol->addr <= svma && svma - symbol->addr < symbol->size &&
			        (!expected || symbol->addr > expected->addr))
				expected = symbol;
		}
		cr_assert_eq(symbols_find(&symbols, svma), expected, "at %zx", (size_t)svma);
	}
	symbols_deinit(&symbols);
}

/* Out of order, of one address in the file's order, without a newline at the end, and what is no line. */
Test(symbols, odd_files)
{
	char text[] =
	        "20 1 b\n10 1 z\n10 1 a\n\nxyz\n10 1\n10 1 \n10 0 zero\n11111111111111111 1 long\n-1 1 x\n"
	        " 1 2 x\n30 ffffffffffffffff end";
	struct symbols symbols = parse(text);

	cr_assert_eq(symbols.n, 4);
	cr_assert_eq(symbols.n_bad, 7);
	cr_assert_str_eq(symbols.items[0].name, "z");
	cr_assert_str_eq(symbols.items[1].name, "a");
	cr_assert_str_eq(symbols.items[2].name, "b");
	cr_assert_str_eq(name_at(&symbols, UINT64_MAX - 1), "end");
	symbols_deinit(&symbols);
	cr_assert_eq(symbols_parse(text, 0, &symbols), 0);
	cr_assert_null(symbols_find(&symbols, 0));
	symbols_deinit(&symbols);
}

/* A symbol at the last address, which the fuzzer found to be lost. */
Test(symbols, last_address)
{
	char text[] = "ffffffffffffffff 20 last\n10 1 first\n";
	struct symbols symbols = parse(text);

	cr_assert_eq(symbols.n, 2);
	cr_assert_str_eq(name_at(&symbols, UINT64_MAX), "last");
	cr_assert_null(symbols_find(&symbols, UINT64_MAX - 1));
	symbols_deinit(&symbols);
}

/* Written and read again; a name cannot break a line. */
Test(symbols, round_trip)
{
	struct symbol items[] = {{0x10, 0x20, "one"}, {0x1234567890abcdef, 1, "two\nlines"}};
	struct symbols symbols = {.items = items, .n = 2}, back;
	struct folder folder = folder_new();
	CLEANUP_FREE char *text = NULL;
	int status, fd = file_create(folder.fd, "x", geteuid(), getegid());

	cr_assert_eq(symbols_write(fd, &symbols), 0);
	close(fd);
	text = shell(&status, "cat %s/x", folder.path);
	cr_assert_str_eq(text, "10 20 one\n1234567890abcdef 1 two_lines\n");
	cr_assert_eq(symbols_read(folder.fd, "x", &back), 0);
	cr_assert_eq(back.n, 2);
	cr_assert_eq(back.items[1].addr, 0x1234567890abcdef);
	symbols_deinit(&back);
	cr_assert_eq(symlinkat("x", folder.fd, "y"), 0);
	cr_assert_eq(symbols_read(folder.fd, "y", &back), -ELOOP);
	folder_remove(&folder);
}

Test(symbols, garbage)
{
	struct random random = {.state = 12};

	for (int i = 0; i < 5000; i++) {
		static const char letters[] = "0123456789abcdefx \n\n\0-";
		size_t n = random_below(&random, 200);
		CLEANUP_FREE char *text = malloc(n + 1);
		struct symbols symbols;

		for (size_t j = 0; j < n; j++)
			text[j] = letters[random_below(&random, sizeof(letters))];
		cr_assert_eq(symbols_parse(text, n, &symbols), 0);
		for (size_t j = 0; j < symbols.n; j++)
			cr_assert_not_null(symbols_find(&symbols, symbols.items[j].addr));
		symbols_deinit(&symbols);
	}
}
