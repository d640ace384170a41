/* probe.h: the smallest fuzz target, to see whether the compiler can make one. */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	(void)data;
	(void)n;
	return 0;
}
