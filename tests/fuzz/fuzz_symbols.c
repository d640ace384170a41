/* fuzz_symbols.c: any bytes as <key>.symbols.map. */
#include <stdlib.h>
#include <string.h>

#include "module/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);
	struct symbols symbols;

	if (!text)
		abort();
	if (n > 0)
		memcpy(text, data, n);
	if (symbols_parse(text, n, &symbols) < 0)
		abort();
	for (size_t i = 0; i < symbols.n; i++) {
		const struct symbol *symbol = &symbols.items[i];

		if (symbol->size == 0 || !symbol->name[0] || !symbols_find(&symbols, symbol->addr) ||
		        (i > 0 && symbol[-1].addr > symbol->addr))
			abort();
	}
	symbols_deinit(&symbols);
	free(text);
	return 0;
}
